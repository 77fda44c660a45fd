"""One signed-in user against another: Bob tries to see, use, change or end what belongs to Alice.

Bob has a session of his own, knows every id that is not secret, and in some tests has stolen one that is. He tries
through the socket, over HTTP, in Chromium, and through a program that passes on what he chooses.
"""

import asyncio
import itertools
import json
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
import mcp_types as types
import pytest
import uvicorn
import websockets
from mcp.server.lowlevel import Server
from playwright.async_api import Browser, BrowserContext, Page, expect
from starlette.applications import Starlette
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse
from starlette.routing import Route

from attacks.arena import VIEW
from attacks.catalogue import attack
from fanlight.host import (
    Call,
    Grant,
    Host,
    Policy,
    SignIn,
    SignInRequiredError,
    Timeouts,
    UnknownToolError,
    UnknownViewError,
    UserOAuth,
)
from fanlight.host.errors import ViewRefusedError
from fanlight.host.host import runtime_of
from fanlight.host.web.origins import app_label
from fanlight.protocol.errors import ArgumentError
from fanlight.protocol.extension import MIME_TYPE
from fanlight.testing.scripted import HostError, scripted_view
from support.browser import view_frame, view_frames
from support.oauth_server import protected_server
from support.page import Page as RawPage
from support.wire import serving

pytestmark = [pytest.mark.anyio, pytest.mark.process]

URI = "ui://crm/view"
SESSIONS = {"session-of-alice": "alice", "session-of-bob": "bob"}
ALICE, BOB = SESSIONS
NOT_YOURS = "This View cannot be opened: it does not exist, its token is wrong or has expired, or it is not yours."
PAGE = """<!doctype html><link rel="icon" href="data:,"><title>Chat</title><script type="module">
import "/apps/mcp-app.js";
import "/apps/mcp-grants.js";
</script><body></body>"""
SHOW = """({ view, token }) => document.body.append(
  Object.assign(document.createElement("mcp-app"), { src: "/apps", token, view }))"""


def crm() -> Server[Any]:
    """Return a server that knows its caller by a bearer token, and makes a document for each of them."""

    def caller(ctx: Any) -> str:
        return str(ctx.request.headers["authorization"]).removeprefix("Bearer ")

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        links = {"show_deals": ["model", "app"], "delete_deal": ["app"]}
        tools = [
            types.Tool(
                name=name,
                input_schema={"type": "object"},
                _meta={"ui": {"resourceUri": URI, "visibility": visibility}},
            )
            for name, visibility in links.items()
        ]
        return types.ListToolsResult(tools=tools)

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        text = f"{params.name} as {caller(ctx)}"
        return types.CallToolResult(content=[types.TextContent(text=text)])

    async def read_resource(ctx: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        html = f"{VIEW}<p id=owner>made for {caller(ctx)}</p>"
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=URI, mime_type=MIME_TYPE, text=html)])

    return Server("crm", on_list_tools=list_tools, on_call_tool=call_tool, on_read_resource=read_resource)


def identify(connection: HTTPConnection) -> str | None:
    return SESSIONS.get(connection.cookies.get("session", ""))


async def bearer(user: str, server: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {user}"}


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Program:
    """A program with Alice and Bob, served on loopback."""

    def __init__(self, host: Host, port: int) -> None:
        self.host = host
        self.port = port
        self.origin = f"http://localhost:{port}"

    async def open_view(self, user: str, conversation: str = "c1") -> Call:
        return await self.host.conversation(conversation, user=user).call_tool("crm__show_deals", {})

    @asynccontextmanager
    async def socket(self, session: str | None, **headers: str) -> AsyncIterator[Any]:
        cookie = {} if session is None else {"cookie": f"session={session}"}
        async with websockets.connect(
            f"ws://localhost:{self.port}/apps/socket",
            origin=self.origin,  # type: ignore[arg-type]
            host="127.0.0.1",
            port=self.port,
            additional_headers=cookie | headers,
        ) as connection:
            yield connection

    async def knock(self, session: str | None, frame: object, **headers: str) -> dict[str, Any]:
        """Open a socket with a session, send a first frame, and return the answer."""
        async with self.socket(session, **headers) as connection:
            return await self.exchange(connection, frame)

    async def exchange(self, connection: Any, frame: object) -> dict[str, Any]:
        await connection.send(json.dumps(frame))
        while True:
            answer: dict[str, Any] = json.loads(await asyncio.wait_for(connection.recv(), 30))
            if answer["type"] != "status":
                return answer

    async def get(self, path: str, session: str | None, *, name: str = "localhost") -> httpx2.Response:
        return await self.request("GET", path, session, name=name)

    async def request(
        self, method: str, path: str, session: str | None, *, name: str = "localhost", body: Any = None
    ) -> httpx2.Response:
        headers = {"host": f"{name}:{self.port}", "origin": self.origin}
        if session is not None:
            headers["cookie"] = f"session={session}"
        async with httpx2.AsyncClient() as client:
            return await client.request(method, f"http://127.0.0.1:{self.port}{path}", headers=headers, json=body)


@asynccontextmanager
async def running(**options: Any) -> AsyncIterator[Program]:
    async def page(request: Any) -> HTMLResponse:
        return HTMLResponse(PAGE)

    with serving(crm().streamable_http_app()) as address, socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        host = Host({"crm": f"{address}/mcp"}, **({"user": identify, "credentials": bearer} | options))
        app = host.wrap(Starlette(routes=[Route("/", page)]))
        web = _Server(uvicorn.Config(app, log_level="critical", ws="websockets-sansio", lifespan="off"))
        async with host:
            serving_task = asyncio.create_task(web.serve(sockets=[listener]))
            try:
                yield Program(host, listener.getsockname()[1])
            finally:
                web.should_exit = web.force_exit = True
                await serving_task


def opening(call: Call, token: str | None = "own", **fields: Any) -> dict[str, Any]:
    return {"type": "open", "view": call.view, "token": call.token if token == "own" else token, **fields}


# Through the socket


@attack("user-token")
async def test_a_stolen_id_and_token_do_not_open_a_view_for_another_user() -> None:
    """Fails without the comparison of users, and without that of tokens, in ViewOpener._authorized."""
    async with running() as program:
        alices, bobs = await program.open_view("alice"), await program.open_view("bob")
        async with program.socket(ALICE) as page:
            assert (await program.exchange(page, opening(alices)))["type"] == "show"
            for token in (alices.token, bobs.token, None, "", "x"):
                refused = await program.knock(BOB, opening(alices, token))
                assert (refused["type"], refused["message"].startswith(NOT_YOURS)) == ("error", True), token
            for token in (bobs.token, None):  # nor does being Alice suffice
                assert (await program.knock(ALICE, opening(alices, token)))["type"] == "error"
            # Alice's page was neither replaced nor told that the View is elsewhere.
            assert (await program.host.view(str(alices.view))).state == "shown"
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(page.recv(), 0.3)
        assert (await program.knock(BOB, opening(bobs)))["type"] == "show"


@attack("user-resume")
async def test_a_stolen_epoch_does_not_resume_a_view_for_another_user() -> None:
    """Fails without the comparison of users in ViewOpener._authorized, and if `resume` comes before it."""
    async with running() as program:
        alices, bobs = await program.open_view("alice"), await program.open_view("bob")
        hello = {"protocolVersion": "2026-01-26", "appInfo": {"name": "v", "version": "1"}, "appCapabilities": {}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "ui/initialize", "params": hello}
        async with program.socket(ALICE) as page:
            epoch = (await program.exchange(page, opening(alices)))["epoch"]
            await program.exchange(page, {"type": "message", "message": message, "n": 1, "ack": 0})
            resuming = {"epoch": epoch, "seen": 0}
            assert (await program.knock(BOB, opening(alices, **resuming)))["type"] == "error"
            # His own View has another session, which does not know this epoch.
            assert (await program.knock(BOB, opening(bobs, **resuming)))["type"] == "show"
            assert (await program.knock(ALICE, opening(alices, **resuming)))["type"] == "resumed"


@attack("user-guess")
async def test_a_foreign_view_and_one_that_does_not_exist_are_refused_alike() -> None:
    """Fails if a foreign View has an error of its own, which would tell Bob that his guess is right."""
    async with running() as program:
        alices, closed = await program.open_view("alice"), await program.open_view("alice")
        await program.host.close_view(str(closed.view))
        view = str(alices.view)
        guesses = [view, str(closed.view), "none", "", view[:-1], f"{view}\0", view.swapcase(), "*", "%", "' or 1=1 --"]
        answers = [await program.knock(BOB, {"type": "open", "view": guess, "token": "x"}) for guess in guesses]
        assert {answer["message"] for answer in answers} == {f"{NOT_YOURS} Reload the page."}
        assert len(view) >= 16  # 96 bits, so that guessing is hopeless anyway


@attack("user-claim")
async def test_only_the_program_says_which_user_a_page_belongs_to() -> None:
    """Fails if a field of the frame, another header or the user's name in place of a session is believed."""
    async with running() as program:
        alices = await program.open_view("alice")
        claims = [
            await program.knock(BOB, opening(alices, user="alice", owner="alice", context={"user": "alice"})),
            await program.knock(BOB, opening(alices), **{"x-user": "alice", "x-forwarded-user": "alice"}),
            await program.knock("alice", opening(alices)),
            await program.knock(None, opening(alices)),
            await program.knock(None, opening(alices), cookie="session="),
        ]
        assert [claim["type"] for claim in claims] == ["error"] * 5
        assert [claim["message"].startswith("You are not signed in.") for claim in claims] == [False] * 2 + [True] * 3


@attack("user-frames")
async def test_frames_name_no_other_view_than_that_of_their_socket() -> None:
    """Fails if a frame after `open` chooses its View, or without the check in ViewOpener.close."""
    async with running() as program:
        alices, bobs = await program.open_view("alice"), await program.open_view("bob")
        async with program.socket(ALICE) as page, program.socket(BOB) as attacker:
            assert (await program.exchange(page, opening(alices)))["type"] == "show"
            assert (await program.exchange(attacker, opening(bobs)))["type"] == "show"
            await attacker.send(json.dumps({"type": "close", "view": alices.view, "n": 1, "ack": 0}))
            while (await asyncio.wait_for(attacker.recv(), 30)).find('"closed"') < 0:
                pass
            assert (await program.host.view(str(alices.view))).state == "shown"
        first = {"type": "close", "view": alices.view, "token": alices.token}
        for frame in (first, opening(alices, close=True), opening(alices, bobs.token, close=True)):
            assert (await program.knock(BOB, frame))["type"] == "error"
        assert (await program.knock(ALICE, opening(alices, None, close=True)))["type"] == "error"
        assert (await program.host.view(str(alices.view))).state != "closed"
        assert (await program.knock(ALICE, opening(alices, close=True)))["type"] == "closed"
        assert (await program.host.view(str(alices.view))).state == "closed"


# Over HTTP


@attack("user-document")
async def test_a_document_is_found_only_at_the_origin_of_its_user() -> None:
    """Fails without the user in `app_label`, and if documents are looked up by their address alone."""
    async with running() as program:
        addresses: dict[str, tuple[str, str]] = {}
        for session, user in SESSIONS.items():
            show = await program.knock(session, opening(await program.open_view(user)))
            origin, _, path = show["document"].rpartition("/")
            addresses[user] = origin.removeprefix("http://").partition(".")[0], f"/{path}"
        (alices, document), (bobs, own) = addresses["alice"], addresses["bob"]
        assert alices != bobs
        # Whoever knows the server, the app and the user could find out that Alice uses it, without the store's secret.
        assert app_label("crm", URI, "alice") != alices
        assert document != own  # a hash of what is in it, which Bob does not know
        names = {label: f"{label}.sandbox.localhost" for label in (alices, bobs)}
        assert "made for alice" in (await program.get(document, None, name=names[alices])).text
        for label, path in ((bobs, document), (alices, own), (alices, "/"), (alices, "/warm/../" + own)):
            answer = await program.get(path, BOB, name=names[label])
            assert (answer.status_code, "made for" in answer.text) == (404, False), (label == alices, path)


@attack("user-grants")
async def test_the_grants_of_another_user_are_neither_listed_nor_revoked() -> None:
    """Fails if the routes take the user from the request's body or query."""
    async with running() as program:
        grants = [Grant("crm", URI, "tool", "delete_deal", user) for user in ("alice", "bob")]
        store = runtime_of(program.host).store
        await store.grant(grants[0])
        for path in ("/apps/grants", "/apps/grants?user=alice"):
            assert (await program.get(path, BOB)).json() == {"grants": []}
            assert (await program.get(path, None)).status_code == 401
        await store.grant(grants[1])
        body = {"server": "crm", "uri": URI, "kind": "tool", "key": "delete_deal", "user": "alice"}
        for session, status in ((BOB, 204), (None, 401), ("alice", 401)):
            answer = await program.request("POST", "/apps/grants/revoke?user=alice", session, body=body)
            assert answer.status_code == status
        assert await program.host.grants("alice") == [grants[0]]
        assert await program.host.grants("bob") == []


@attack("user-oauth")
async def test_a_sign_in_of_one_user_cannot_be_finished_by_another() -> None:
    """Fails without the comparison of users in SignIns.finish."""
    asked: list[SignIn] = []
    redirect_uri = "http://127.0.0.1:8000/apps/oauth/callback"
    with protected_server() as accounts:
        oauth = UserOAuth({"crm"}, redirect_uri)
        host = Host({"crm": accounts.url}, user=identify, oauth=oauth, timeouts=Timeouts(connect=0.2, tools=30))
        host.on_sign_in(asked.append)
        app = host.wrap(Starlette())
        async with host:
            for user in ("alice", "bob"):
                await host.conversation("c1", user=user).tools()
            links = {each.user: each.url for each in asked}
            async with httpx2.AsyncClient(follow_redirects=False) as browser:
                backs = {}
                for user, account in (("alice", "mallory"), ("bob", "bob")):
                    login = await browser.get(links[user])
                    back = await browser.get(f"{login.headers['location']}&as={account}")
                    backs[user] = back.headers["location"]
            transport = httpx2.ASGITransport(app=app)
            async with httpx2.AsyncClient(transport=transport, cookies={"session": BOB}) as bob:
                stolen = await bob.get(backs["alice"])
                # The code of his own sign-in, with the state of hers.
                states = {user: parse_qs(urlsplit(back).query)["state"][0] for user, back in backs.items()}
                mixed = await bob.get(backs["bob"].replace(states["bob"], states["alice"]))
                assert [stolen.status_code, mixed.status_code] == [400, 400]
                assert (await bob.get(backs["bob"])).status_code == 200
            with pytest.raises(SignInRequiredError):
                await host.conversation("c1", user="alice").call_tool("crm__whoami", {})
            assert "access_token" not in json.dumps(await runtime_of(host).store.credentials("alice", "crm"))
            assert "access_token" in json.dumps(await runtime_of(host).store.credentials("bob", "crm"))
            assert await whoami(host, "bob") == "bob"


async def whoami(host: Host, user: str) -> str:
    chat = host.conversation("c1", user=user)
    await chat.tools()
    return (await chat.call_tool("crm__whoami", {})).text


# Through the program


@attack("user-consent")
async def test_what_alice_always_allows_is_asked_of_bob() -> None:
    """Fails without the user in Grant or in the table of grants."""
    async with running(policy=Policy({"tools": "ask"})) as program:
        for user in ("alice", "bob", "alice"):
            async with scripted_view(program.host, "show_deals", name="crm", user=user, conversation="c1") as view:
                view.decision = "always" if user == "alice" else "deny"
                if user == "bob":
                    with pytest.raises(HostError, match="denied"):
                        await view.call_tool("delete_deal")
                    assert len(view.questions) == 1
                else:
                    answer = await view.call_tool("delete_deal")
                    assert answer["content"][0]["text"] == "delete_deal as alice"
        assert await program.host.grants("bob") == []


@attack("user-pin")
async def test_a_document_that_alice_approved_is_not_approved_for_bob(tmp_path: Path) -> None:
    """Fails without the user in the table of pinned documents."""
    async with running(policy=Policy({"pin_documents": True})) as program:
        store = runtime_of(program.host).store
        for user in ("alice", "bob"):
            await store.pin("crm", URI, "0" * 64, user)  # an older document, which both have seen
        program.host.on_question(lambda question: "once" if question.user == "alice" else "deny", instead_of_pages=True)
        for user in ("alice", "bob"):
            call = await program.open_view(user)
            page: Any = RawPage()
            if user == "alice":
                await page.open(program.host, call.view, call.token, user=user)
            else:
                with pytest.raises(ViewRefusedError, match="denied"):
                    await page.open(program.host, call.view, call.token, user=user)
        assert await store.pinned("crm", URI, "bob") == "0" * 64


@attack("user-model")
async def test_bobs_model_gets_nothing_of_alices_views_in_a_conversation_of_the_same_id() -> None:
    """Fails without the user in Owner."""
    async with (
        running(policy=Policy({"app_tools": "allow"})) as program,
        scripted_view(
            program.host, "show_deals", name="crm", user="alice", conversation="c1", initialize=False
        ) as view,
    ):
        view.handlers["tools/list"] = lambda params: {"tools": [{"name": "peek"}]}
        view.handlers["tools/call"] = lambda params: {"content": [{"type": "text", "text": "alice's"}]}
        await view.initialize({"tools": {}})
        await view.expect("tools/list")
        await anyio.wait_all_tasks_blocked()
        await view.update_model_context("a secret of alice")
        alice, bob = (program.host.conversation("c1", user=user) for user in ("alice", "bob"))
        (offered,) = [tool for tool in await alice.tools() if tool.view is not None]
        assert [tool.name for tool in await bob.tools()] == ["crm__show_deals"]
        for name in (offered.name, f"app_{view.call.view}__peek", "app___peek", "peek"):
            with pytest.raises(UnknownToolError) as unknown:
                await bob.call_tool(name, {})
            assert "peek" not in str(unknown.value).replace(name, "")  # nor does the error list her tools
        async with bob.turn() as turn:
            await turn.feed("call_1", offered.name, "{}")
            assert (await turn.run("call_1", offered.name, {})).result is not None
            assert "alice's" not in (await turn.run("call_2", offered.name, {})).text
        assert await bob.views() == []
        assert await bob.context() == await bob.context(everything=True) == []
        with pytest.raises(UnknownViewError):
            await bob.token(str(view.call.view))
        await bob.close()
        assert (await program.host.view(str(view.call.view))).state != "closed"
        assert [update.text for update in await alice.context()] == ["a secret of alice"]  # Bob did not use it up
        assert (await alice.call_tool(offered.name, {})).text == "alice's"


@attack("user-credentials")
async def test_calls_of_two_users_at_the_same_time_have_their_own_credentials() -> None:
    """Fails without the user in the key of Servers.connect, and in that of cached documents."""
    async with running() as program:
        seen: list[tuple[str, str, str]] = []

        async def use(user: str, session: str) -> None:
            for _ in range(5):
                call = await program.open_view(user)
                show = await program.knock(session, opening(call))
                label = show["document"].removeprefix("http://").partition(".")[0]
                path = f"/{show['document'].rpartition('/')[2]}"
                document = await program.get(path, None, name=f"{label}.sandbox.localhost")
                seen.append((user, call.text, document.text.partition("<p id=owner>")[2].partition("<")[0]))

        async with anyio.create_task_group() as tasks:
            for session, user in SESSIONS.items():
                tasks.start_soon(use, user, session)
        assert set(seen) == {(user, f"show_deals as {user}", f"made for {user}") for user in ("alice", "bob")}


@attack("user-forget")
async def test_what_bob_forgets_audits_and_ends_is_his_own() -> None:
    """Fails if a selection or a query leaves the user out."""
    async with running(policy=Policy({"tools": "allow"})) as program:
        host = program.host
        alices, bobs = await program.open_view("alice"), await program.open_view("bob")
        for session, call in ((ALICE, alices), (BOB, bobs)):
            assert (await program.knock(session, opening(call)))["type"] == "show"
        begun = await host.conversation("c1", user="alice").begin("crm__show_deals")
        assert {record.user async for record in host.audit(user="bob")} == {"bob"}
        assert [record async for record in host.audit(user="bob", view=alices.view)] == []
        await host.conversation("c1", user="bob").close()
        await host.forget(user="bob", conversation="c1")
        await host.forget(user="bob")
        assert [record async for record in host.audit(user="bob")] == []
        assert [record async for record in host.audit(user="alice")]
        assert begun.cancelled is None
        assert len(await host.conversation("c1", user="alice").views()) == 2
        assert (await program.knock(ALICE, opening(alices)))["type"] == "show"


NAMES = (
    "alice",
    "Alice",
    "alice ",
    "alice:c1",
    "alice/c1",
    "alice__c1",
    'alice", "c1',
    "%",
    "al_ce",
    "None",
    "null",
    "\u00e4lice",
    "a\u0308lice",
    "a" * 5000,
)


@attack("user-names")
async def test_similar_names_are_different_users() -> None:
    """Fails if a key joins the name with something else, or is compared as a pattern or without case."""
    sessions = {f"s{number}": name for number, name in enumerate(NAMES)}

    def by_number(connection: HTTPConnection) -> str | None:
        return sessions.get(connection.cookies.get("session", ""))

    async def numbered(user: str, server: str) -> dict[str, str]:
        return {"Authorization": f"Bearer user-{NAMES.index(user)}"}

    async with running(user=by_number, credentials=numbered) as program:
        host, store = program.host, runtime_of(program.host).store
        calls = [await program.open_view(name) for name in NAMES]
        assert [call.text for call in calls] == [f"show_deals as user-{n}" for n in range(len(NAMES))]
        assert len({app_label("crm", URI, name) for name in NAMES}) == len(NAMES)
        for number, name in enumerate(NAMES):
            await store.grant(Grant("crm", URI, "tool", str(number), name))
            await store.pin("crm", URI, f"{number:064}", name)
            await host.conversation("c1", user=name).begin("crm__show_deals")
        for number, name in enumerate(NAMES):
            assert [grant.key for grant in await host.grants(name)] == [str(number)]
            assert await store.pinned("crm", URI, name) == f"{number:064}"
            assert len(await host.conversation("c1", user=name).views()) == 2
        for (mine, call), (other, _) in itertools.permutations(list(enumerate(calls))[:6], 2):
            answer = await program.knock(f"s{other}", opening(call))
            assert answer["type"] == "error", (NAMES[mine], NAMES[other])
        await host.forget(user="%")
        await host.forget(user="al_ce")
        assert len(await host.conversation("c1", user="alice").views()) == 2
        for wrong in ("alice\0", "alice\ud800"):  # a store might end, replace or reject it
            with pytest.raises(ArgumentError, match="expected text without NUL"):
                host.conversation("c1", user=wrong)
            sessions["s0"] = wrong
            refused = await program.knock("s0", opening(calls[0]))
            assert refused["message"] == "The host could not find out which user this page belongs to."
        # A conversation and a user are two parts of a key, wherever one ends and the other begins.
        assert await host.conversation("x", user="alice:c1").views() == []


@attack("user-none")
async def test_no_user_is_not_everybody() -> None:
    """Fails if None, which stands for the only user of a program, is accepted where users are known."""
    async with running() as program:
        for wrong in ("", 5, b"alice", ["alice"], True):
            with pytest.raises(ArgumentError):
                program.host.conversation("c1", user=wrong)  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match="This host knows its users"):
            program.host.conversation("c1")
        await program.open_view("alice")
        await runtime_of(program.host).store.grant(Grant("crm", URI, "tool", "delete_deal", "alice"))
        assert await program.host.grants() == []
        await runtime_of(program.host).store.grant(Grant("crm", URI, "tool", "delete_deal", None))
        async with scripted_view(program.host, "show_deals", name="crm", user="bob", conversation="c1") as view:
            view.decision = "deny"
            with pytest.raises(HostError, match="denied"):
                await view.call_tool("delete_deal")


# In Chromium


@asynccontextmanager
async def signed_in(program: Program, browser: Browser, session: str) -> AsyncIterator[tuple[BrowserContext, Page]]:
    context = await browser.new_context()
    try:
        await context.add_cookies([{"name": "session", "value": session, "url": program.origin}])
        page = await context.new_page()
        await page.goto(program.origin)
        yield context, page
    finally:
        await context.close()


async def show(page: Page, call: Call) -> None:
    await page.evaluate(SHOW, {"view": call.view, "token": call.token})


@attack("user-page")
async def test_bobs_page_shows_nothing_of_alice(browser: Browser) -> None:
    """Fails without the comparison of users in ViewOpener._authorized."""
    async with (
        running() as program,
        signed_in(program, browser, ALICE) as (_, alice),
        signed_in(program, browser, BOB) as (_, bob),
    ):
        call = await program.open_view("alice")
        await show(alice, call)
        await expect((await view_frame(alice)).locator("#owner")).to_have_text("made for alice")
        await show(bob, call)
        await expect(bob.get_by_role("alert")).to_contain_text(NOT_YOURS)
        await view_frames(bob, 0)
        await expect(alice.get_by_text("open in another window")).to_have_count(0)
        assert await (await view_frame(alice)).evaluate(
            "greet().then(() => ask('tools/list')).then((it) => !!it.result)"
        )


@attack("user-elements")
async def test_bobs_list_of_grants_neither_shows_nor_revokes_those_of_alice(browser: Browser) -> None:
    """Fails if the routes of `<mcp-grants>` do not ask which user the page belongs to."""
    async with running() as program, signed_in(program, browser, BOB) as (_, bob):
        store = runtime_of(program.host).store
        await store.grant(Grant("crm", URI, "tool", "delete_deal", "alice"))
        await store.grant(Grant("crm", URI, "link", "example.com", "bob"))
        await bob.evaluate("""() => document.body.append(
          Object.assign(document.createElement("mcp-grants"), { id: "grants" }))""")
        await bob.locator("#grants").evaluate("grants => grants.setAttribute('src', '/apps')")
        await expect(bob.locator("#grants")).to_contain_text("example.com")
        await expect(bob.locator("#grants")).not_to_contain_text("delete_deal")
        body = {"server": "crm", "uri": URI, "kind": "tool", "key": "delete_deal", "user": "alice"}
        status = await bob.evaluate(
            "body => fetch('/apps/grants/revoke', { method: 'POST', body }).then((answer) => answer.status)",
            json.dumps(body),
        )
        assert status == 204
        assert len(await program.host.grants("alice")) == 1


@attack("user-storage")
async def test_two_accounts_in_one_browser_share_no_storage_and_no_connection(browser: Browser) -> None:
    """Fails without the user in `app_label`, and if a resumed socket is not asked for its user."""
    async with running() as program, signed_in(program, browser, ALICE) as (context, page):
        call = await program.open_view("alice")
        await show(page, call)
        view = await view_frame(page)
        await view.evaluate("localStorage.secret = 'of alice'")
        assert await view.evaluate("localStorage.secret") == "of alice"
        # Alice signs out, and Bob signs in, in another window. Her page loses its socket.
        await context.add_cookies([{"name": "session", "value": BOB, "url": program.origin}])
        await page.evaluate("document.querySelector('mcp-app').reopen()")
        await expect(page.get_by_role("alert")).to_contain_text(NOT_YOURS)
        await page.goto(program.origin)
        await show(page, await program.open_view("bob"))
        own = await view_frame(page)
        await expect(own.locator("#owner")).to_have_text("made for bob")
        assert await own.evaluate("[localStorage.length, document.cookie]") == [0, ""]
