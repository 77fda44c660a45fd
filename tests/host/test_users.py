"""Two users of one host: what belongs to Alice is nowhere visible, usable or changeable for Bob.

Each test names the place whose user it holds. Without the user in that place, it fails.
"""

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import httpx2
import pytest
from mcp.server import MCPServer
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from starlette.applications import Starlette
from starlette.testclient import TestClient

from fanlight import Apps, View
from fanlight.host import (
    Grant,
    Host,
    MemoryStore,
    Message,
    Policy,
    Question,
    Retention,
    SqliteStore,
    StoreError,
    Timeouts,
    UnknownToolError,
    UnknownViewError,
)
from fanlight.host.errors import ViewRefusedError
from fanlight.host.host import runtime_of
from fanlight.host.store.base import NO_CONDITION, Changed, ErasedView, Selection
from fanlight.host.web.origins import HostNames, app_label
from fanlight.testing.scripted import HostError, ScriptedView, scripted_view
from support.mcpui import embedding, html_resource
from support.page import Page

pytestmark = pytest.mark.anyio

URI = "ui://deals/view"
ORIGINS = HostNames().origins("http", "localhost:8000")


def deals(html: str = "<!doctype html><title>Deals</title>") -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer("deals")
    apps = Apps(server)
    apps.view(View.html(html, uri=URI))

    @apps.tool(view=URI)
    def show_deals() -> str:
        return "two deals"

    @apps.tool(view=URI, visibility=["app"])
    def delete_deal(id: int = 1) -> str:
        return f"deleted {id}"

    @apps.tool(view=URI)
    async def hang() -> str:
        await anyio.sleep_forever()
        return "never"

    return server


@asynccontextmanager
async def hosted(**options: Any) -> AsyncIterator[Host]:
    async with Host({"deals": deals()}, **options) as host:
        await host.servers["deals"].ready()
        yield host


def shown_to(host: Host, user: str | None, conversation: str = "c1", **options: Any) -> Any:
    return scripted_view(host, "show_deals", name="deals", user=user, conversation=conversation, **options)


async def opens(host: Host, view: str | None, token: str | None, user: str | None) -> None:
    """Open a View as the page of a user would."""
    page: Any = Page()
    await page.open(host, view, token, user=user)


async def until(is_true: Callable[[], bool | Awaitable[bool]]) -> None:
    with anyio.fail_after(60):
        while not (await result if inspect.isawaitable(result := is_true()) else result):  # noqa: ASYNC110
            await anyio.sleep(0.02)


# Pages


async def test_a_view_opens_only_for_its_own_user() -> None:
    async with hosted() as host:
        call = await host.conversation("c1", user="alice").call_tool("deals__show_deals", {})
        with pytest.raises(ViewRefusedError, match="cannot be opened: it does not exist, its token is wrong"):
            await opens(host, call.view, call.token, "bob")
        with pytest.raises(ViewRefusedError):
            await opens(host, call.view, None, "alice")
        with pytest.raises(ViewRefusedError):
            await opens(host, call.view, "wrong", "alice")
        await opens(host, call.view, call.token, "alice")


def identify(connection: Any) -> str | None:
    return {"a": "alice", "b": "bob"}.get(connection.cookies.get("session", ""))


async def identify_later(connection: Any) -> str | None:
    await anyio.lowlevel.checkpoint()
    return identify(connection)


def first_frame(client: TestClient, view: str | None, token: str | None, session: str | None) -> dict[str, Any]:
    headers = {"origin": "http://testserver"} | ({} if session is None else {"cookie": f"session={session}"})
    with client.websocket_connect("/apps/socket", headers=headers) as socket:
        socket.send_json({"type": "open", "view": view, "token": token, "context": {}})
        while (frame := socket.receive_json())["type"] == "status":
            pass
        return dict(frame)


@pytest.mark.parametrize("user", [identify, identify_later])
def test_the_socket_of_a_page_says_which_user_it_belongs_to(user: Any) -> None:
    host = Host({"deals": deals()}, user=user, hosts=["testserver"])
    with TestClient(host.wrap(Starlette())) as client:
        chat = host.conversation("c1", user="alice")
        assert client.portal is not None
        call = client.portal.call(chat.call_tool, "deals__show_deals", {})
        assert "You are not signed in" in first_frame(client, call.view, call.token, None)["message"]
        assert "cannot be opened" in first_frame(client, call.view, call.token, "b")["message"]
        assert "cannot be opened" in first_frame(client, call.view, None, "a")["message"]
        assert first_frame(client, call.view, call.token, "a")["type"] == "show"


@pytest.mark.parametrize("result", [5, "", "raise"])
def test_an_identity_that_is_none_is_refused_and_logged(result: Any, caplog: pytest.LogCaptureFixture) -> None:
    def broken(connection: Any) -> Any:
        return 1 / 0 if result == "raise" else result

    with TestClient(Host({"deals": deals()}, user=broken, hosts=["testserver"]).wrap(Starlette())) as client:
        message = first_frame(client, "v", "t", None)["message"]
    assert message == "The host could not find out which user this page belongs to."
    assert "Host(user=...)" in caplog.text


def test_authorize_can_refuse_the_owner_and_cannot_admit_anybody_else() -> None:
    allowed = True

    async def authorize(socket: Any, view: str) -> bool:
        return allowed

    host = Host({"deals": deals()}, user=identify, authorize=authorize, hosts=["testserver"])
    with TestClient(host.wrap(Starlette())) as client:
        assert client.portal is not None
        call = client.portal.call(host.conversation("c1", user="alice").call_tool, "deals__show_deals", {})
        assert first_frame(client, call.view, call.token, "b")["type"] == "error"
        assert first_frame(client, call.view, "wrong", "a")["type"] == "error"
        assert first_frame(client, call.view, call.token, "a")["type"] == "show"
        allowed = False
        assert first_frame(client, call.view, call.token, "a")["message"] == "You may not open this View."


async def test_a_host_that_knows_users_wants_one_for_each_conversation() -> None:
    host = Host({}, user=identify)
    with pytest.raises(TypeError, match=r"This host knows its users. Write host.conversation\(id, user=...\)"):
        host.conversation("c1")


# Tokens


@pytest.mark.parametrize(
    ("options", "is_warned"),
    [
        ({"sandbox_origin": "https://sandbox.example.net"}, True),
        ({"sandbox_origin": "https://sandbox.example.net", "user": lambda connection: "me"}, False),
        ({}, False),
    ],
)
async def test_a_host_that_others_can_reach_warns_if_everybody_is_one_user(
    options: dict[str, Any], is_warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async with Host({}, **options):
        assert ("everybody shares grants and conversations" in caplog.text) is is_warned


async def test_a_token_is_stored_as_a_digest_and_expires(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, now = tmp_path / "host.db", 1000.0
    monkeypatch.setattr("fanlight.host.views.tokens.time", SimpleNamespace(time=lambda: now))
    async with hosted(store=f"sqlite:///{path}", timeouts=Timeouts(token=30)) as host:
        chat = host.conversation("c1", user="alice")
        call = await chat.call_tool("deals__show_deals", {})
        assert call.token is not None
        stored = b"".join(file.read_bytes() for file in tmp_path.iterdir())
        assert call.token.encode() not in stored
        now += 31
        with pytest.raises(ViewRefusedError, match="expired"):
            await opens(host, call.view, call.token, "alice")
        assert call.view is not None
        await opens(host, call.view, await chat.token(call.view), "alice")


async def test_each_use_renews_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("fanlight.host.views.tokens.time", SimpleNamespace(time=lambda: now))
    async with hosted(timeouts=Timeouts(token=30)) as host:
        call = await host.conversation("c1").call_tool("deals__show_deals", {})
        for _ in range(5):
            now += 20
            await opens(host, call.view, call.token, None)
        now += 31
        with pytest.raises(ViewRefusedError):
            await opens(host, call.view, call.token, None)


async def test_a_page_that_stays_connected_keeps_its_token(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("fanlight.host.views.tokens.time", SimpleNamespace(time=lambda: now))
    monkeypatch.setattr("fanlight.host.views.tokens.ViewTokens.renewal_interval", 0.01)
    async with hosted(timeouts=Timeouts(token=30)) as host:
        call = await host.conversation("c1").call_tool("deals__show_deals", {})
        other = await host.conversation("c1").call_tool("deals__show_deals", {})
        page = await Page().open(host, call.view, call.token)
        kept = await Page().open(host, other.view, other.token)
        kept.disconnect()
        renewed: list[str] = []
        add_token = runtime_of(host).store.add_token

        async def recorded(digest: str, view: str, expires: float) -> None:
            renewed.append(view)
            await add_token(digest, view, expires)

        monkeypatch.setattr(runtime_of(host).tokens._store, "add_token", recorded)
        for _ in range(3):
            now += 20
            renewed.clear()
            with anyio.fail_after(60):
                while not renewed:  # noqa: ASYNC110  there is no event for it
                    await anyio.sleep(0.01)
            assert set(renewed) == {call.view}
        page.disconnect()
        await opens(host, call.view, call.token, None)
        with pytest.raises(ViewRefusedError):
            await opens(host, other.view, other.token, None)


async def test_a_token_is_issued_only_for_views_of_the_conversation() -> None:
    async with hosted() as host:
        call = await host.conversation("c1", user="alice").call_tool("deals__show_deals", {})
        assert call.view is not None
        for chat in (
            host.conversation("c1", user="bob"),
            host.conversation("c2", user="alice"),
            host.conversation("c1"),
        ):
            with pytest.raises(UnknownViewError):
                await chat.token(call.view)
        await host.close_view(call.view)
        with pytest.raises(UnknownViewError):
            await host.conversation("c1", user="alice").token(call.view)


# Consent


async def test_what_one_user_always_allows_is_asked_of_the_other() -> None:
    async with hosted(policy=Policy({"tools": "ask"})) as host:
        async with shown_to(host, "alice") as alice:
            alice.decision = "always"
            await alice.call_tool("delete_deal", id=1)
        (grant,) = await host.grants("alice")
        assert grant == Grant("deals", URI, "tool", "delete_deal", "alice")
        async with shown_to(host, "bob") as bob:
            with pytest.raises(HostError, match="denied"):
                await bob.call_tool("delete_deal", id=2)
            assert len(bob.questions) == 1
        assert await host.grants("bob") == await host.grants() == []


async def test_one_user_cannot_revoke_for_another() -> None:
    async with hosted(policy=Policy({"tools": "ask"})) as host:
        for user in ("alice", "bob"):
            async with shown_to(host, user) as view:
                view.decision = "always"
                await view.call_tool("delete_deal")
        await host.revoke((await host.grants("alice"))[0])
        assert await host.grants("alice") == []
        assert [grant.user for grant in await host.grants("bob")] == ["bob"]


async def test_a_revocation_is_in_the_audit_of_its_user() -> None:
    grant = Grant("deals", URI, "tool", "delete_deal", "alice")
    async with hosted(user=identify) as host:
        store = runtime_of(host).store
        await store.grant(grant)
        await host.revoke(grant)
        await host.revoke(grant)  # there is nothing to revoke any more
        await store.grant(grant)
        transport = httpx2.ASGITransport(app=host.wrap(Starlette()))
        async with httpx2.AsyncClient(transport=transport, cookies={"session": "a"}) as client:
            fields = {"server": "deals", "uri": URI, "kind": "tool", "key": "delete_deal"}
            headers = {"origin": "http://localhost:8000"}
            url = "http://localhost:8000/apps/grants/revoke"
            assert (await client.post(url, json=fields, headers=headers)).status_code == 204
        records = [each async for each in host.audit(user="alice", kind="decision")]
        assert [(each.name, each.outcome, each.by, each.server) for each in records] == [
            ("tool", "revoked", "program", "deals"),
            ("tool", "revoked", "user", "deals"),
        ]
        assert records[0].data == {"key": "delete_deal", "uri": URI}
        assert [each async for each in host.audit(user="bob")] == []


async def test_each_user_approves_a_changed_document(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'host.db'}"
    policy = Policy({"pin_documents": True})
    async with hosted(store=store, policy=policy) as host:
        for user in ("alice", "bob"):
            async with shown_to(host, user):
                pass
    async with Host({"deals": deals("<!doctype html><title>Changed</title>")}, store=store, policy=policy) as host:
        await host.servers["deals"].ready()
        decisions = {"alice": "once", "bob": "deny"}
        asked: list[str | None] = []

        def answer(question: Question) -> Any:
            asked.append(question.user)
            return decisions[str(question.user)]

        host.on_question(answer, instead_of_pages=True)
        async with shown_to(host, "alice"):
            pass
        with pytest.raises(ViewRefusedError, match="denied"):
            async with shown_to(host, "bob"):
                pass
        assert asked == ["alice", "bob"]
        await host.approve_document(
            "deals", URI, str(await runtime_of(host).store.pinned("deals", URI, "alice")), "bob"
        )
        async with shown_to(host, "bob"):
            pass


# Browser storage


async def test_an_app_has_another_origin_for_each_user() -> None:
    async with hosted() as host:
        origins = set()
        for user in ("alice", "bob", None):
            call = await host.conversation("c1", user=user).call_tool("deals__show_deals", {})
            page: Any = Page()
            await page.open(host, call.view, call.token, user=user)
            origins.add((await page.next())["document"].rpartition("/")[0])
        assert len(origins) == 3
    assert app_label("a", "b\0c", None) != app_label("a", "b", "c") != app_label("a", "b", None)


# What the model gets


async def test_views_context_and_app_tools_are_of_one_user_and_one_conversation() -> None:
    async with (
        hosted() as host,
        shown_to(host, "alice", capabilities={"tools": {}}, initialize=False) as alice,
    ):
        alice.handlers["tools/list"] = lambda params: {"tools": [{"name": "peek"}]}
        alice.handlers["tools/call"] = lambda params: {"content": [{"type": "text", "text": "alice's"}]}
        await alice.initialize({"tools": {}})
        await alice.expect("tools/list")
        await anyio.wait_all_tasks_blocked()
        await alice.update_model_context("a secret")
        own = host.conversation("c1", user="alice")
        (offered,) = [tool for tool in await own.tools() if tool.view is not None]
        others = [
            host.conversation("c1", user="bob"),
            host.conversation("c2", user="alice"),
            host.conversation("c1"),
            host.conversation(user="alice"),
        ]
        for chat in others:
            assert [tool for tool in await chat.tools() if tool.view is not None] == []
            assert [*await chat.context(everything=True), *await chat.context(), *await chat.views()] == []
            with pytest.raises(UnknownToolError):
                await chat.call_tool(offered.name, {})
        assert [view.id for view in await own.views()] == [alice.call.view]
        (update,) = await own.context()
        assert update.content == [{"type": "text", "text": "a secret"}]
        called = await own.call_tool(offered.name, {})
        assert called.result == {
            "content": [{"type": "text", "text": "The user denied this."}],
            "isError": True,
        }


async def test_context_is_given_to_the_model_once() -> None:
    async with hosted() as host, shown_to(host, None) as view:
        chat = host.conversation("c1")
        await view.update_model_context("one", count=1)
        await view.update_model_context("two", count=2)
        (update,) = await chat.context()
        assert (update.view, update.server, update.tool) == (view.call.view, "deals", "show_deals")
        assert (update.content, update.structured_content) == ([{"type": "text", "text": "two"}], {"count": 2})
        assert await chat.context() == []
        assert len(await chat.context(everything=True)) == 1
        await view.update_model_context("three")
        assert [each.content[0]["text"] for each in await host.conversation("c1").context()] == ["three"]


async def test_a_message_says_where_it_comes_from() -> None:
    async with hosted(policy=Policy({"messages": "allow"})) as host:
        messages: list[Message] = []
        host.on_message(messages.append)
        async with shown_to(host, "alice", "c7") as view:
            await view.send_message("Hello")
            (message,) = messages
            assert (message.user, message.conversation, message.view, message.server, message.content) == (
                "alice",
                "c7",
                view.call.view,
                "deals",
                [{"type": "text", "text": "Hello"}],
            )


async def test_a_turn_in_a_message_handler_goes_on_when_the_page_is_reloaded() -> None:
    policy, finished, started = Policy({"messages": "allow"}), anyio.Event(), anyio.Event()
    async with hosted(policy=policy) as host:
        release = anyio.Event()

        @host.on_message
        async def turn(message: Message) -> None:
            started.set()
            await release.wait()
            finished.set()

        async with shown_to(host, "alice") as view, anyio.create_task_group() as tasks:

            async def send() -> None:
                with pytest.raises(AssertionError):  # the View is gone before the answer
                    await view.send_message("Hello")

            tasks.start_soon(send)
            await started.wait()
            page: Any = Page()
            await page.open(host, view.call.view, view.call.token, user="alice")
            tasks.cancel_scope.cancel()
        release.set()
        with anyio.fail_after(60):
            await finished.wait()


async def test_a_view_does_not_wait_for_a_long_turn() -> None:
    async with hosted(policy=Policy({"messages": "allow"}), timeouts=Timeouts(message=0.05)) as host:
        release = anyio.Event()

        @host.on_message
        async def turn(message: Message) -> None:
            await release.wait()

        async with shown_to(host, None) as view:
            await view.send_message("Hello")
        release.set()


# Records


async def test_audit_records_name_the_user() -> None:
    async with hosted(policy=Policy({"tools": "ask"})) as host:
        for user in ("alice", "bob"):
            async with shown_to(host, user) as view:
                with pytest.raises(HostError):
                    await view.call_tool("delete_deal")
        kinds = {record.kind async for record in host.audit(user="alice")}
        assert {"message", "decision", "document"} <= kinds
        assert {record.user async for record in host.audit()} == {"alice", "bob"}
        assert {record.user async for record in host.audit(user="bob")} == {"bob"}


async def test_a_view_is_described_with_its_owner() -> None:
    async with hosted() as host:
        async with shown_to(host, "alice") as view:
            info = await host.view(str(view.call.view))
            assert (info.user, info.conversation, info.server, info.tool) == ("alice", "c1", "deals", "show_deals")
            assert (info.uri, info.call, info.state) == (URI, "done", "shown")
        assert (await host.view(info.id)).state == "waiting"
        await host.close_view(info.id)
        assert (await host.view(info.id)).state == "closed"
        with pytest.raises(UnknownViewError):
            await host.view("nothing")


async def test_spans_name_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr("fanlight.host.views.requests.tracing._tracer", provider.get_tracer("test"))
    async with hosted(policy=Policy({"tools": "allow"})) as host:
        for user in ("alice", "bob"):
            exporter.clear()
            async with shown_to(host, user) as view:
                await view.call_tool("delete_deal")
            attributes = [span.attributes or {} for span in exporter.get_finished_spans()]
            assert {each.get("fanlight.user") for each in attributes} == {user}


async def test_a_view_is_told_that_the_store_failed_and_not_where_it_is() -> None:
    class Broken(MemoryStore):
        async def change(self, id: str, changes: Any, only_if: Any = NO_CONDITION) -> Changed | None:
            if "context" in changes:
                raise StoreError("/var/lib/chat/host.db: database is locked.")
            return await super().change(id, changes, only_if)

    async with hosted(store=Broken()) as host, shown_to(host, "alice") as view:
        with pytest.raises(HostError, match=r"The host cannot use its store now\. Try again later\. \("):
            await view.update_model_context("a text")


# Erasing


async def seen_by(host: Host, user: str, conversation: str = "c1") -> ScriptedView:
    async with shown_to(host, user, conversation) as view:
        view.decision = "always"
        await view.call_tool("delete_deal")
    result: ScriptedView = view
    return result


@pytest.mark.parametrize("path", [None, "host.db"])
@pytest.mark.parametrize("selection", [{"conversation": "c1"}, {"user": "alice"}], ids=["conversation", "user"])
async def test_a_document_that_came_in_a_result_is_forgotten_with_its_view(
    tmp_path: Path, selection: dict[str, Any], path: str | None
) -> None:
    server = embedding("made", show=html_resource("<!doctype html><p>a secret of alice"))
    store = None if path is None else f"sqlite:///{tmp_path / path}"
    async with Host({"made": server}, store=store) as host:
        await host.servers["made"].ready()
        call = await host.conversation("c1", user="alice").call_tool("made__show", {})
        page: Any = Page()
        await page.open(host, call.view, call.token, user="alice")
        label, _, address = (await page.next())["document"].removeprefix("http://").partition("/")
        documents = runtime_of(host).opener.documents
        assert await documents.get(label.partition(".")[0], address) is not None
        await host.forget(**selection)
        assert await documents.get(label.partition(".")[0], address) is None


@pytest.mark.parametrize("path", [None, "host.db"])
async def test_a_user_is_forgotten_and_the_others_are_not(tmp_path: Path, path: str | None) -> None:
    store = None if path is None else f"sqlite:///{tmp_path / path}"
    async with hosted(store=store, policy=Policy({"tools": "ask"})) as host:
        alice, bob = await seen_by(host, "alice"), await seen_by(host, "bob")
        await host.forget(user="alice")
        with pytest.raises(UnknownViewError):
            await host.view(str(alice.call.view))
        assert [*await host.conversation("c1", user="alice").views(), *await host.grants("alice")] == []
        assert [record async for record in host.audit(user="alice")] == []
        assert await runtime_of(host).store.pinned("deals", URI, "alice") is None
        with pytest.raises(ViewRefusedError):
            await opens(host, alice.call.view, alice.call.token, "alice")
        assert (await host.view(str(bob.call.view))).user == "bob"
        assert len(await host.grants("bob")) == 1
        assert [record async for record in host.audit(user="bob")]
        await opens(host, bob.call.view, bob.call.token, "bob")


async def test_signing_out_disconnects_the_pages_of_one_user() -> None:
    async with hosted() as host:
        pages = {}
        for user in ("alice", "bob"):
            call = await host.conversation("c1", user=user).call_tool("deals__show_deals", {})
            pages[user] = await Page().open(host, call.view, call.token, user=user)
        await host.disconnect("alice")
        assert (pages["alice"].closed, pages["bob"].closed) == (1012, None)
        assert [view.state for view in await host.conversation("c1", user="alice").views()] == ["waiting"]


async def test_a_conversation_is_forgotten_for_one_user_if_the_host_knows_users() -> None:
    async with hosted(user=lambda connection: "alice") as host:
        with pytest.raises(TypeError, match=r"Write forget\(user=\.\.\., conversation=\.\.\.\)"):
            await host.forget(conversation="c1")


@pytest.mark.parametrize("age", [timedelta(days=-1), 5])
async def test_an_invalid_age_erases_nothing(age: Any) -> None:
    async with hosted() as host:
        await seen_by(host, "alice")
        with pytest.raises(TypeError, match="expected a timedelta"):
            await host.forget(older_than=age)
        assert [record async for record in host.audit()]


@pytest.mark.parametrize("path", [None, "host.db"])
async def test_audit_records_can_be_kept_under_a_pseudonym(tmp_path: Path, path: str | None) -> None:
    store = None if path is None else f"sqlite:///{tmp_path / path}"
    async with hosted(store=store, policy=Policy({"tools": "ask"}), audit_arguments="whole") as host:
        await seen_by(host, "alice")
        before = len([record async for record in host.audit()])
        await host.forget(user="alice", audit="pseudonymise")
        records = [record async for record in host.audit()]
        assert len(records) == before
        assert {record.data for record in records} == {None}
        (name,) = {record.user for record in records}
        assert str(name).startswith("erased-")


async def test_an_open_view_that_is_forgotten_is_closed_in_its_page() -> None:
    async with hosted() as host, shown_to(host, "alice") as view:
        await host.forget(conversation="c1")
        with pytest.raises(UnknownViewError):
            await host.view(str(view.call.view))
        assert view.received("ui/resource-teardown")


async def test_what_is_old_is_forgotten_unless_it_is_alive() -> None:
    async with hosted(timeouts=Timeouts(linger=0.05)) as host:
        old = await seen_by(host, "alice")
        await anyio.sleep(0.3)  # its session has ended
        async with shown_to(host, "alice") as alive:
            await host.forget(older_than=timedelta(milliseconds=1))
            assert [view.id for view in await host.conversation("c1", user="alice").views()] == [alive.call.view]
            assert old.call.view != alive.call.view


async def test_forgetting_without_saying_what_is_an_error() -> None:
    async with hosted() as host:
        with pytest.raises(TypeError, match=r"needs user=, conversation= or older_than="):
            await host.forget()
        with pytest.raises(TypeError, match=r'audit is .*expected "erase" or "pseudonymise"'):
            await host.forget(user="alice", audit="maybe")  # type: ignore[arg-type]


async def test_retention_erases_on_a_schedule() -> None:
    soon = timedelta(milliseconds=50)
    async with hosted(timeouts=Timeouts(linger=0.02), retention=Retention(views=soon, audit=soon, every=soon)) as host:
        await seen_by(host, "alice")

        async def is_erased() -> bool:
            chat = host.conversation("c1", user="alice")
            return not await chat.views() and not [record async for record in host.audit()]

        await until(is_erased)


async def test_retention_goes_on_after_the_store_failed() -> None:
    """Goes red if a failure ends the schedule."""

    class FailsOnce(MemoryStore):
        has_failed = False

        async def erase_views(self, selection: Selection) -> list[ErasedView]:
            if not self.has_failed:
                self.has_failed = True
                raise StoreError("The database is locked.")
            return await super().erase_views(selection)

    soon = timedelta(milliseconds=50)
    async with hosted(
        timeouts=Timeouts(linger=0.02), retention=Retention(views=soon, every=soon), store=FailsOnce()
    ) as host:
        await seen_by(host, "alice")

        async def is_erased() -> bool:
            return not await host.conversation("c1", user="alice").views()

        await until(is_erased)


@pytest.mark.parametrize("name", ["views", "audit", "every"])
@pytest.mark.parametrize("value", [5, timedelta(0), timedelta(days=-1)])
def test_a_retention_that_makes_no_sense_is_an_error(name: str, value: Any) -> None:
    with pytest.raises(TypeError, match=rf"{name} is .*expected a timedelta above 0"):
        Retention(**{name: value})


async def test_the_store_in_memory_is_bounded() -> None:
    store = MemoryStore(max_bytes=100_000)
    async with hosted(store=store, timeouts=Timeouts(linger=0.0)) as host:
        chat = host.conversation("c1")
        for _ in range(30):
            call = await chat.begin("deals__show_deals")
            await call.show_result({}, {"content": [{"type": "text", "text": "x" * 20_000}]})
        assert 1 <= len(await chat.views()) <= 5
        assert (await chat.views())[-1].id == call.view


# Calls that nothing ends


async def test_a_call_that_is_never_run_is_cancelled_after_a_while() -> None:
    async with hosted(timeouts=Timeouts(begun=0.1)) as host:
        call = await host.conversation("c1").begin("deals__show_deals")

        async def is_cancelled() -> bool:
            return (await host.view(str(call.view))).call == "cancelled"

        await until(is_cancelled)


async def test_closing_a_conversation_ends_its_calls_and_views() -> None:
    async with hosted() as host:
        chat, other = host.conversation("c1", user="alice"), host.conversation("c2", user="alice")
        begun, left = await chat.begin("deals__show_deals"), await other.begin("deals__show_deals")
        shown = await chat.call_tool("deals__show_deals", {})
        await chat.close()
        assert begun.cancelled is not None
        assert left.cancelled is None
        assert {(await host.view(str(call.view))).state for call in (begun, shown)} == {"closed"}
        assert await chat.views() == []
        assert len(await other.views()) == 1


async def test_a_call_that_ran_when_the_process_died_is_cancelled_after_the_restart(tmp_path: Path) -> None:
    path = tmp_path / "host.db"
    async with hosted(store=SqliteStore(path)) as host:
        call = await host.conversation("c1", user="alice").begin("deals__hang")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call.run, {})
            await anyio.wait_all_tasks_blocked()
            died = path.read_bytes(), (tmp_path / "host.db-wal").read_bytes()
            tasks.cancel_scope.cancel()
    (tmp_path / "died.db").write_bytes(died[0])
    (tmp_path / "died.db-wal").write_bytes(died[1])
    async with hosted(store=f"sqlite:///{tmp_path / 'died.db'}") as host:
        chat = host.conversation("c1", user="alice")
        (view,) = await chat.views()
        assert view.call == "cancelled"
        page: Any = Page()
        await page.open(host, view.id, await chat.token(view.id), user="alice")
        record = await runtime_of(host).records.find(view.id)
        assert record is not None
        assert record.cancelled == "The host was restarted before the call finished."
