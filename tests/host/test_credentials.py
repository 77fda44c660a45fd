"""Credentials of users: connections of their own, to real servers over HTTP and stdio."""

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp_types as types
import pytest
from mcp.server.lowlevel import Server
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from fanlight.host import CredentialsRejectedError, Host, Limits, NotConnectedError, Policy, Timeouts
from fanlight.host.errors import ViewUnavailableError
from fanlight.host.host import runtime_of
from fanlight.host.upstream.connection import Connection
from fanlight.host.upstream.events import Status
from fanlight.protocol.extension import MIME_TYPE
from fanlight.testing.scripted import HostError, scripted_view
from support.page import Page
from support.wire import serving

pytestmark = pytest.mark.anyio

URI = "ui://crm/view"


def owner_of(ctx: Any) -> str:
    return str(ctx.request.headers.get("authorization", "nobody")).removeprefix("Bearer ")


def crm() -> Server[Any]:
    """Return a server that answers each user differently, with a document made for the user."""

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        tool = types.Tool(name="show_deals", input_schema={"type": "object"}, _meta={"ui": {"resourceUri": URI}})
        return types.ListToolsResult(tools=[tool])

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return types.CallToolResult(content=[types.TextContent(text=f"deals of {owner_of(ctx)}")])

    async def read_resource(ctx: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        html = f"<!doctype html><title>made for {owner_of(ctx)}</title>"
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=URI, mime_type=MIME_TYPE, text=html)])

    return Server("crm", on_list_tools=list_tools, on_call_tool=call_tool, on_read_resource=read_resource)


class Gate:
    """An ASGI app around another that rejects some bearer tokens."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.rejected: dict[str, int] = {}
        self.needs_handshake = False
        self.refused = 0
        self.sessions = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            token = dict(scope["headers"]).get(b"authorization", b"").decode().removeprefix("Bearer ")
            if (status := self.rejected.get(token)) is not None:
                return await PlainTextResponse("no", status)(scope, receive, send)
            if self.needs_handshake and b"mcp-method" in dict(scope["headers"]):
                self.refused += 1
                error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32601, "message": "Method not found"}}
                return await JSONResponse(error, 400)(scope, receive, send)
        await self.app(scope, receive, send)


@contextmanager
def served() -> Iterator[tuple[str, Gate]]:
    gate = Gate(crm().streamable_http_app())
    with serving(gate) as address:
        yield f"{address}/mcp", gate


async def bearer(user: str, server: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {user}"}


@asynccontextmanager
async def hosted(credentials: Any = bearer, **options: Any) -> AsyncIterator[tuple[Host, Gate]]:
    with served() as (url, gate):
        async with Host({"crm": url}, credentials=credentials, **options) as host:
            yield host, gate


def text(call: Any) -> str:
    return str(call.result["content"][0]["text"])


def own_connections(host: Host) -> list[str]:
    return [user for (user, _), access in runtime_of(host).servers._access.items() if access.own is not None]


async def test_each_user_has_a_connection_with_their_own_credentials() -> None:
    async with hosted() as (host, _):
        for user in ("alice", "bob", "alice"):
            call = await host.conversation("c1", user=user).call_tool("crm__show_deals", {})
            assert text(call) == f"deals of {user}"
        assert own_connections(host) == ["bob", "alice"]


class Bearer(httpx2.Auth):
    def __init__(self, token: str) -> None:
        self.token = token

    def auth_flow(self, request: httpx2.Request) -> Any:
        request.headers["authorization"] = f"Bearer {self.token}"
        yield request


async def test_credentials_can_be_an_auth_object() -> None:
    async def credentials(user: str, server: str) -> httpx2.Auth:
        return Bearer(f"{user}'s token")

    async with hosted(credentials) as (host, _):
        assert text(await host.conversation(user="bob").call_tool("crm__show_deals", {})) == "deals of bob's token"


async def test_users_without_credentials_share_a_connection() -> None:
    async def credentials(user: str, server: str) -> dict[str, str] | None:
        return None if user != "alice" else await bearer(user, server)

    async with hosted(credentials) as (host, _):
        for user, owner in (("bob", "nobody"), ("carol", "nobody"), ("alice", "alice")):
            call = await host.conversation("c1", user=user).call_tool("crm__show_deals", {})
            assert text(call) == f"deals of {owner}"
        assert own_connections(host) == ["alice"]


@pytest.mark.process
async def test_a_command_gets_the_environment_of_the_user_and_a_process_of_its_own(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(
        "import os\nfrom mcp.server import MCPServer\nserver = MCPServer('it')\n"
        "@server.tool()\ndef whoami() -> str:\n    return f\"{os.environ['WHO']} {os.getpid()}\"\nserver.run()\n",
        encoding="utf-8",
    )

    async def credentials(user: str, server: str) -> dict[str, str]:
        return {"WHO": user}

    timeouts = Timeouts(connect=60, tools=60)
    async with Host({"it": [sys.executable, str(script)]}, credentials=credentials, timeouts=timeouts) as host:
        (alice, one), (bob, two) = [
            text(await host.conversation(user=user).call_tool("it__whoami", {})).split() for user in ("alice", "bob")
        ]
        assert (alice, bob) == ("alice", "bob")
        assert one != two


async def test_a_document_that_was_made_for_one_user_is_not_shown_to_another() -> None:
    async with hosted() as (host, _):
        titles = []
        for user in ("alice", "bob", "alice"):
            call = await host.conversation("c1", user=user).call_tool("crm__show_deals", {})
            record = await runtime_of(host).records.find(str(call.view))
            assert record is not None
            titles.append((await runtime_of(host).admission.find(record)).html)
        assert ["alice" in title for title in titles] == [True, False, True]
        assert "bob" in titles[1]


async def test_the_call_of_a_view_has_the_credentials_of_its_user() -> None:
    async with hosted(policy=Policy({"tools": "allow"})) as (host, _):
        for user in ("alice", "bob"):
            await host.conversation(user=user).tools()
        async with (
            scripted_view(host, "show_deals", name="crm", user="alice") as alice,
            scripted_view(host, "show_deals", name="crm", user="bob") as bob,
        ):
            for view, user in ((alice, "alice"), (bob, "bob")):
                assert (await view.call_tool("show_deals"))["content"][0]["text"] == f"deals of {user}"


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("when", ["before", "later"])
@pytest.mark.parametrize("needs_handshake", [False, True], ids=["2026", "handshake"])
async def test_rejected_credentials_reach_the_program_and_the_next_use_asks_again(
    status: int, when: str, needs_handshake: bool
) -> None:
    asked: list[str] = []
    rejections: list[CredentialsRejectedError] = []

    async def credentials(user: str, server: str) -> dict[str, str]:
        asked.append(user)
        return {"Authorization": f"Bearer {user}{len(asked)}"}

    async with hosted(credentials) as (host, gate):
        gate.needs_handshake = needs_handshake
        host.on_credentials_rejected(rejections.append)
        chat = host.conversation("c1", user="alice")
        if when == "later":
            await chat.call_tool("crm__show_deals", {})
        gate.rejected = {"alice1": status}
        with pytest.raises(
            CredentialsRejectedError, match=rf"the credentials of alice \(HTTP {status}\). Sign in"
        ) as error:
            await chat.call_tool("crm__show_deals", {})
        assert (error.value.user, error.value.server, error.value.status) == ("alice", "crm", status)
        await anyio.wait_all_tasks_blocked()
        assert [(each.user, each.status) for each in rejections] == [("alice", status)]
        assert text(await chat.call_tool("crm__show_deals", {})) == "deals of alice2"
        assert bool(gate.refused) is needs_handshake


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("needs_handshake", [False, True], ids=["2026", "handshake"])
async def test_a_view_whose_credentials_were_rejected_is_told_in_words(status: int, needs_handshake: bool) -> None:
    async with hosted(policy=Policy({"tools": "allow"})) as (host, gate):
        gate.needs_handshake = needs_handshake
        await host.conversation(user="alice").tools()
        connection = await runtime_of(host).servers.connect("crm", "alice")
        await connection.ready()
        assert (connection.protocol_version == "2026-07-28") is not needs_handshake
        async with scripted_view(host, "show_deals", name="crm", user="alice") as view:
            gate.rejected = {"alice": status}
            with pytest.raises(HostError) as refused:
                await view.call_tool("show_deals")
            words = "crm does not accept your sign-in any more. Sign in again."
            assert str(refused.value) == f"{words} (-32000)"
            # Also the next time, when the connection itself is rejected.
            with pytest.raises(HostError) as refused:
                await view.call_tool("show_deals")
            assert str(refused.value) == f"{words} (-32000)"
        records = [record async for record in host.audit(user="alice") if record.name == "tools/call"]
        reasons = [(record.data or {})["reason"] for record in records]
        assert reasons == [f"crm: the server rejected the credentials of alice (HTTP {status}). Sign in again."] * 2


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("needs_handshake", [False, True], ids=["2026", "handshake"])
async def test_a_page_whose_credentials_were_rejected_is_told_in_words(status: int, needs_handshake: bool) -> None:
    async with hosted() as (host, gate):
        gate.needs_handshake = needs_handshake
        call = await host.conversation(user="alice").call_tool("crm__show_deals", {})
        await host.servers.disconnect("alice")
        gate.rejected = {"alice": status}
        with pytest.raises(ViewUnavailableError) as refused:
            await Page().open(host, call.view, call.token, user="alice")
        words = "The View cannot be shown: crm does not accept your sign-in any more. Sign in again."
        assert (refused.value.user_message, refused.value.needs_user) == (words, True)
        assert f"rejected the credentials of alice (HTTP {status})" in str(refused.value)


async def test_the_program_hears_once_of_credentials_that_are_rejected_again_and_again() -> None:
    """Goes red if each call with the same credentials is reported."""
    rejections: list[CredentialsRejectedError] = []
    async with hosted() as (host, gate):
        host.on_credentials_rejected(rejections.append)
        chat = host.conversation(user="alice")
        await chat.call_tool("crm__show_deals", {})
        gate.rejected = {"alice": 401}

        async def call() -> None:
            with pytest.raises(CredentialsRejectedError):
                await chat.call_tool("crm__show_deals", {})

        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(call)
        await call()
        await anyio.wait_all_tasks_blocked()
        assert len(rejections) == 1
        gate.rejected = {}
        await chat.call_tool("crm__show_deals", {})
        gate.rejected = {"alice": 401}
        await call()
        await anyio.wait_all_tasks_blocked()
        assert len(rejections) == 2


async def test_the_shared_connection_is_idle_until_somebody_uses_it() -> None:
    """Goes red if it says that it is connecting while nobody opens it."""

    async def credentials(user: str, server: str) -> dict[str, str] | None:
        return None if user == "guest" else await bearer(user, server)

    async with hosted(credentials) as (host, _):
        await host.conversation(user="alice").call_tool("crm__show_deals", {})
        assert host.servers["crm"].status == Status("idle")
        await host.conversation(user="guest").call_tool("crm__show_deals", {})
        assert host.servers["crm"].status.state == "ready"


async def test_an_idle_connection_is_closed_and_opened_again() -> None:
    asked: list[str] = []

    async def credentials(user: str, server: str) -> dict[str, str]:
        asked.append(user)
        return await bearer(user, server)

    async with hosted(credentials, timeouts=Timeouts(idle=0.1)) as (host, _):
        chat = host.conversation(user="alice")
        await chat.call_tool("crm__show_deals", {})
        with anyio.fail_after(60):
            while own_connections(host):  # noqa: ASYNC110  closing has no event
                await anyio.sleep(0.02)
        assert text(await chat.call_tool("crm__show_deals", {})) == "deals of alice"
        assert asked == ["alice", "alice"]


async def test_a_call_after_a_rejection_asks_for_credentials_although_the_old_connection_still_closes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Goes red if a user who has signed in again gets the rejection of the old connection once more."""
    asked: list[str] = []

    async def credentials(user: str, server: str) -> dict[str, str]:
        asked.append(user)
        return {"Authorization": f"Bearer {user}{len(asked)}"}

    attempt = Connection._attempt

    async def closes_slowly(self: Connection) -> Any:
        failure = await attempt(self)
        await anyio.sleep(0.2)
        return failure

    monkeypatch.setattr(Connection, "_attempt", closes_slowly)
    async with hosted(credentials) as (host, gate):
        chat = host.conversation("c1", user="alice")
        await chat.call_tool("crm__show_deals", {})
        gate.rejected = {"alice1": 401}
        with pytest.raises(CredentialsRejectedError):
            await chat.call_tool("crm__show_deals", {})
        assert text(await chat.call_tool("crm__show_deals", {})) == "deals of alice2"


async def test_a_view_whose_connection_was_idle_goes_on_with_a_new_one() -> None:
    """Goes red if a request of the View, or one that comes while the connection is opened, needs the old one."""
    policy = Policy({"tools": "allow", "messages": "allow"})
    async with (
        hosted(policy=policy) as (host, _),
        scripted_view(host, "show_deals", name="crm", user="alice", conversation="c1") as view,
    ):
        messages: list[Any] = []
        host.on_message(messages.append)
        await runtime_of(host).servers.disconnect("alice")
        await view.send_message("hello")
        assert len(messages) == 1
        results: list[str] = []

        async def call() -> None:
            results.append((await view.call_tool("show_deals"))["content"][0]["text"])

        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(call)
        assert results == ["deals of alice"] * 3


async def test_the_least_recently_used_connection_is_closed_if_there_are_too_many() -> None:
    async with hosted(limits=Limits(user_connections=2)) as (host, _):
        servers = runtime_of(host).servers
        for user in ("alice", "bob", "alice", "carol"):
            await (await servers.connect("crm", user)).ready()
        assert own_connections(host) == ["alice", "carol"]


async def test_a_connection_in_use_is_not_closed_for_another_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """Goes red if the least recently used connection is closed whatever it does."""
    async with hosted(limits=Limits(user_connections=2)) as (host, _):
        servers = runtime_of(host).servers
        for user in ("alice", "bob"):
            await (await servers.connect("crm", user)).ready()
        monkeypatch.setattr(Connection, "is_busy", True)
        with pytest.raises(NotConnectedError, match=r"all 2 connections of users are in use.*Limits\.user_connections"):
            await servers.connect("crm", "carol")
        assert own_connections(host) == ["alice", "bob"]


async def test_forgetting_a_user_closes_their_connections() -> None:
    async with hosted() as (host, _):
        for user in ("alice", "bob"):
            await host.conversation(user=user).call_tool("crm__show_deals", {})
        await host.forget(user="alice")
        assert own_connections(host) == ["bob"]


async def test_a_call_can_begin_only_after_the_user_is_connected() -> None:
    async with hosted() as (host, _):
        await host.conversation(user="bob").tools()
        with pytest.raises(NotConnectedError, match=r"alice is not connected yet. Before begin"):
            runtime_of(host).servers.find("crm", "alice")


@pytest.mark.parametrize("returned", ["token", 5, {"a": 1}, ["x"]])
async def test_credentials_of_the_wrong_kind_are_an_error_that_says_what_to_return(returned: Any) -> None:
    async def credentials(user: str, server: str) -> Any:
        return returned

    async with hosted(credentials) as (host, _):
        with pytest.raises(TypeError, match=r"credentials returned .*Expected headers \(a dict"):
            await runtime_of(host).servers.connect("crm", "alice")


async def test_credentials_that_never_come_do_not_block_forever() -> None:
    async def credentials(user: str, server: str) -> dict[str, str]:
        await anyio.sleep_forever()
        return {}

    async with hosted(credentials, timeouts=Timeouts(credentials=0.05)) as (host, _):
        message = r"the credentials of alice were not there within 0.05 seconds \(Timeouts.credentials\)"
        with pytest.raises(NotConnectedError, match=message):
            await runtime_of(host).servers.connect("crm", "alice")
        with pytest.raises(NotConnectedError, match=message):
            await host.conversation("c1", user="alice").call_tool("crm__list", {})


async def test_a_timeout_inside_the_credentials_function_is_not_reported_as_that_of_the_host() -> None:
    async def credentials(user: str, server: str) -> dict[str, str]:
        raise TimeoutError("the vault is slow")

    async with hosted(credentials) as (host, _):
        with pytest.raises(TimeoutError, match="the vault is slow"):
            await runtime_of(host).servers.connect("crm", "alice")
