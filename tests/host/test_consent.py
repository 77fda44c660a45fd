"""Consent: when the user is asked, how often, and which answers are kept."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp.server import MCPServer
from mcp_types import ToolAnnotations

from fanlight import Apps, Csp
from fanlight.host import (
    App,
    Ask,
    Decision,
    Grant,
    Host,
    Limits,
    MemoryStore,
    Policy,
    Question,
    RequestError,
    SamplingRequest,
    Timeouts,
)
from fanlight.host.consent.consent import visible
from fanlight.host.errors import ViewRefusedError
from fanlight.host.host import runtime_of
from fanlight.host.web.origins import HostNames
from support.calls import begin
from support.page import Page

pytestmark = pytest.mark.anyio

ORIGINS = HostNames().origins("http", "localhost:8000")
HELLO = {"protocolVersion": "2026-01-26", "appInfo": {"name": "V", "version": "1"}, "appCapabilities": {}}
HTML = "<!doctype html><title>x</title>"


def board(html: list[str] | None = None) -> MCPServer[Any]:
    """Return a server with tools that change something and one that only reads."""
    server: MCPServer[Any] = MCPServer("board")
    apps = Apps(server)
    source = html or [HTML]
    csp = Csp(connect_domains=["https://api.example.com", "https://evil.example"])
    apps.view(lambda: source[-1], uri="ui://board/view", csp=csp, permissions=["camera", "geolocation"])

    @apps.tool(view="ui://board/view")
    def show() -> str:
        return "shown"

    @apps.tool(annotations=ToolAnnotations(read_only_hint=True))
    def look() -> str:
        return "seen"

    @apps.tool()
    def move(to: int = 0) -> str:
        return f"moved to {to}"

    @apps.tool()
    def repeat(text: str) -> str:
        return text

    @apps.tool()
    def clear() -> str:
        return "cleared"

    return server


@asynccontextmanager
async def opened(host: Host) -> AsyncIterator[Page]:
    async with host:
        await host.servers.wait_until_settled()
        yield await view(host)


async def view(host: Host) -> Page:
    call = await begin(host, "board", "show", conversation="c1")
    page = Page()
    await page.open(host, call.view, call.token)
    page.shown = await page.next()
    await page.ask("ui/initialize", HELLO, id=0)
    await page.say({"method": "ui/notifications/initialized"})
    return page


async def call(page: Page, name: str, id: int = 7, **arguments: Any) -> None:
    await page.say({"id": id, "method": "tools/call", "params": {"name": name, "arguments": arguments}})


async def answered(page: Page, word: str) -> dict[str, Any]:
    """Answer the next question, and return it."""
    question = await page.next()
    assert question["type"] == "question", question
    await page.tell({"type": "command-result", "id": question["id"], "result": {"answer": word}})
    return question


async def test_a_read_only_tool_is_called_without_a_question() -> None:
    async with opened(Host({"board": board()})) as page:
        await call(page, "look")
        assert (await page.message())["result"]["content"][0]["text"] == "seen"


async def test_the_question_names_the_app_the_server_the_tool_and_the_arguments() -> None:
    async with opened(Host({"board": board()})) as page:
        await call(page, "move", to=3)
        question = await answered(page, "once")
        assert (question["app"], question["server"]) == ("show (board)", "board")
        (request,) = question["requests"]
        assert request["text"] == "show (board) wants to run move."
        assert request["details"] == [["Arguments", '{\n "to": 3\n}']]  # the text contains the rest
        scope = "this app of board may run move without asking, in every conversation"
        assert request["always"] == f"Always: {scope}, until you revoke that."
        assert request["once"] == "Once: until this View is closed, it may run move without asking."
        assert (await page.message())["result"]["content"][0]["text"] == "moved to 3"


async def test_a_question_from_a_custom_policy_still_shows_the_details() -> None:
    class Brief(Policy):
        def tool_call(self, app: App, tool: dict[str, Any], arguments: dict[str, Any]) -> Decision:
            return Ask("Shall it move?")

        def link(self, app: App, url: str) -> Decision:
            return Ask("Shall it open a page?")

    async with opened(Host({"board": board()}, policy=Brief())) as page:
        await call(page, "move")
        assert (await answered(page, "deny"))["requests"][0]["details"] == [["Tool", "move"]]
        await page.message()
        await page.say({"id": 8, "method": "ui/open-link", "params": {"url": "https://a.example/b"}})
        (request,) = (await answered(page, "deny"))["requests"]
        assert request["details"] == [["Address", "https://a.example/b"]]
        assert "may open pages of a.example without asking" in request["always"]
        assert request["once"] == ""  # asked about each time


async def test_requests_that_a_view_makes_at_the_same_time_are_one_question() -> None:
    host = Host({"board": board()})
    async with opened(host) as page:
        for id, to in enumerate((3, 4, 3), 1):
            await call(page, "move", id, to=to)
        await page.say({"id": 4, "method": "ui/open-link", "params": {"url": "https://a.example/b"}})
        question = await answered(page, "once")
        move, link = question["requests"]
        assert (move["text"], move["count"]) == ("show (board) wants to run move.", 3)
        assert move["details"] == [["Arguments", '{\n "to": 3\n}'], ["Arguments", '{\n "to": 4\n}']]
        assert (link["text"], link["count"]) == ("show (board) wants to open https://a.example/b", 1)
        opening = [frame for frame in [await page.next() for _ in range(4)] if frame["type"] == "open-link"]
        assert [frame["url"] for frame in opening] == ["https://a.example/b"]
        decisions = [
            (record.name, record.by) async for record in host.audit(kind="decision") if record.name != "document"
        ]
        assert sorted(decisions) == [("link", "user"), ("tool", "user"), ("tool", "user"), ("tool", "user")]


async def test_a_long_link_is_shortened_and_follows_the_call_with_a_warning() -> None:
    """A View must not hide a destructive call below a long link. Goes red without `shortened` and without the order."""
    server = board()

    @server.tool(annotations=ToolAnnotations(destructive_hint=True), meta={"ui": {"visibility": ["model", "app"]}})
    def delete_customer(customer: str) -> str:
        return customer

    url = f"https://a.example/start/{'x' * 1_000}/end"
    async with opened(Host({"board": server})) as page:
        await page.say({"id": 1, "method": "ui/open-link", "params": {"url": url}})
        await call(page, "delete_customer", 2, customer="all")
        delete, link = (await answered(page, "deny"))["requests"]
        assert delete["text"] == "show (board) wants to run delete_customer."
        assert delete["warning"]
        assert re.fullmatch(r"show \(board\) wants to open https://a\.example/start/x+…x+/end", link["text"])
        assert len(link["text"]) < 200
        assert link["details"] == [["Address", url]]


async def test_the_text_of_any_request_is_bounded_and_complete_in_its_details() -> None:
    question = "Shall it do this? " + "word " * 300

    class Wordy(Policy):
        def link(self, app: App, url: str) -> Decision:
            return Ask(question)

    async with opened(Host({"board": board()}, policy=Wordy())) as page:
        await page.say({"id": 1, "method": "ui/open-link", "params": {"url": "https://a.example/b"}})
        (request,) = (await answered(page, "deny"))["requests"]
        assert len(request["text"]) == 401
        assert request["details"] == [["Request", question], ["Address", "https://a.example/b"]]


async def test_no_to_several_requests_is_one_denial() -> None:
    async with opened(Host({"board": board()}, limits=Limits(denials=2))) as page:
        for round in range(2):
            for id in range(3):
                await call(page, "move", 10 * round + id)
            await answered(page, "deny")
            for _ in range(3):
                assert "The user denied this." in (await page.message())["error"]["message"]
        await call(page, "move", 99)
        assert "too many" in (await page.message())["error"]["message"]


async def test_always_for_several_requests_grants_each_of_them() -> None:
    host = Host({"board": board()})
    async with opened(host) as page:
        await call(page, "move", 1)
        await page.say({"id": 2, "method": "ui/open-link", "params": {"url": "https://a.example/b"}})
        await answered(page, "always")
        await page.next()
        assert {(grant.kind, grant.key) for grant in await host.grants()} == {("tool", "move"), ("link", "a.example")}


async def test_a_request_that_its_view_cancels_leaves_the_question_to_the_others() -> None:
    async with opened(Host({"board": board()})) as page:
        await call(page, "move", 1, to=1)
        await call(page, "move", 2, to=2)
        first = await page.next()
        assert first["requests"][0]["count"] == 2
        await page.say({"method": "notifications/cancelled", "params": {"requestId": 1}})
        assert await page.next() == {"type": "cancel-command", "id": first["id"]}
        (request,) = (await answered(page, "once"))["requests"]
        assert (request["count"], request["details"]) == (1, [["Arguments", '{\n "to": 2\n}']])
        assert (await page.message())["id"] == 2


async def test_a_program_that_decides_itself_is_asked_about_each_request() -> None:
    host = Host({"board": board()})
    texts: list[str] = []

    def decide(question: Question) -> str:
        texts.append(question.text)
        return "deny"

    host.on_question(decide, instead_of_pages=True)  # type: ignore[arg-type]
    async with opened(host) as page:
        await call(page, "move", 1)
        await page.say({"id": 2, "method": "ui/open-link", "params": {"url": "https://a.example/b"}})
        for _ in range(2):
            assert "denied" in (await page.message())["error"]["message"]
    assert texts == ["show (board) wants to run move.", "show (board) wants to open https://a.example/b"]


async def test_once_holds_for_this_view_and_this_tool() -> None:
    host = Host({"board": board()})
    async with opened(host) as page:
        await call(page, "move")
        await answered(page, "once")
        await page.message()
        await call(page, "move")
        assert "result" in await page.message()
        await call(page, "clear")
        await answered(page, "deny")
        assert (await page.message())["error"] == {"code": -32000, "message": "The user denied this."}
        other = await view(host)
        await call(other, "move")
        await answered(other, "deny")


async def test_always_is_stored_until_it_is_revoked() -> None:
    store = MemoryStore()
    host = Host({"board": board()}, store=store)
    async with opened(host) as page:
        await call(page, "move")
        await answered(page, "always")
        await page.message()
        other = await view(host)
        await call(other, "move")
        assert "result" in await other.message()
        assert await host.grants() == [Grant("board", "ui://board/view", "tool", "move")]
        await host.revoke((await host.grants())[0])
        third = await view(host)
        await call(third, "move")
        await answered(third, "deny")


@pytest.mark.parametrize(
    ("method", "params", "kind"),
    [
        ("ui/open-link", {"url": "https://a.example/x"}, ["Address", "https://a.example/x"]),
        ("ui/message", {"role": "user", "content": [{"type": "text", "text": "hi"}]}, ["Message", "hi"]),
        (
            "ui/download-file",
            {"contents": [{"type": "resource", "resource": {"uri": "file:///../a\u202e.txt", "text": "x"}}]},
            ["File", "a_.txt"],
        ),
        ("sampling/createMessage", {"messages": [], "maxTokens": 1}, ["Question", "[]"]),
    ],
)
async def test_requests_that_leave_the_view_are_asked_about_each_time(
    method: str, params: Any, kind: list[str]
) -> None:
    host = Host({"board": board()})
    messages: list[Any] = []
    host.on_message(lambda *message: messages.append(message))

    @host.on_sampling
    async def sample(request: SamplingRequest) -> dict[str, Any]:
        return {"role": "assistant"}

    async with opened(host) as page:
        for _ in range(2):
            await page.say({"id": 1, "method": method, "params": params})
            (request,) = (await answered(page, "deny"))["requests"]
            in_text = re.search(f" wants to (open|save) {re.escape(kind[1])}", request["text"])
            assert kind in request["details"] or in_text
            assert (await page.message())["error"]["message"] == "The user denied this."
        await page.say({"id": 1, "method": method, "params": params})
        await answered(page, "once")
        after = await page.next()
        if after["type"] in ("open-link", "download"):
            await page.tell({"type": "command-result", "id": after["id"], "result": {}})
            after = await page.next()
        assert "result" in after["message"]


async def test_model_context_is_allowed_and_shown_in_the_page() -> None:
    host = Host({"board": board()})
    async with opened(host) as page:
        update = {"content": [{"type": "text", "text": "three left"}]}
        await page.say({"id": 1, "method": "ui/update-model-context", "params": update})
        assert await page.next() == {"type": "model-context", "update": update}
        assert (await page.message())["result"] == {}


async def test_a_view_gets_progress_while_the_user_decides() -> None:
    async with opened(Host({"board": board()})) as page:
        params = {"name": "move", "arguments": {}, "_meta": {"progressToken": "p"}}
        await page.say({"id": 1, "method": "tools/call", "params": params})
        told = await page.message()
        assert told["params"] == {"progressToken": "p", "progress": 0, "message": "Waiting for the user to decide."}
        await answered(page, "deny")


async def test_the_user_is_not_asked_again_after_too_many_denials() -> None:
    async with opened(Host({"board": board()}, limits=Limits(denials=2))) as page:
        for _ in range(2):
            await call(page, "move")
            await answered(page, "deny")
            await page.message()
        await call(page, "clear")
        assert "Further requests of this View are denied" in (await page.message())["error"]["message"]
        await call(page, "look")
        assert "result" in await page.message()


async def test_questions_per_minute_are_limited() -> None:
    host = Host({"board": board()}, limits=Limits(questions_per_minute=2))
    async with opened(host) as page:
        for _ in range(2):
            await page.say({"id": 1, "method": "ui/open-link", "params": {"url": "https://a.example"}})
            await answered(page, "once")
            opened_ = await page.next()
            await page.tell({"type": "command-result", "id": opened_["id"], "result": {}})
            await page.message()
        await page.say({"id": 1, "method": "ui/open-link", "params": {"url": "https://a.example"}})
        assert "at most 2 times a minute" in (await page.message())["error"]["message"]


async def test_equal_requests_at_the_same_time_are_one_question() -> None:
    async with opened(Host({"board": board()})) as page:
        for id in range(5):
            await call(page, "move", id)
        await answered(page, "once")
        assert {(await page.message())["id"] for _ in range(5)} == set(range(5))


@pytest.mark.parametrize("silence", ["page", "answer"])
async def test_a_missing_answer_denies_the_request(silence: str) -> None:
    async with opened(Host({"board": board()}, timeouts=Timeouts(question=0.05))) as page:
        await call(page, "move")
        question = await page.next()
        if silence == "answer":
            await page.tell({"type": "command-result", "id": question["id"], "result": {"answer": "of course"}})
        else:
            assert await page.next() == {"type": "cancel-command", "id": question["id"]}
        no = "The user denied this." if silence == "answer" else "The page did not answer in time. Nobody allowed this."
        assert (await page.message())["error"]["message"] == no


async def decisions(host: Host) -> list[tuple[str, str | None, str | None]]:
    return [
        (each.outcome, each.by, (each.data or {}).get("reason"))
        async for each in host.audit(kind="decision", name="tool")
    ]


async def ended_question(host: Host) -> None:
    with anyio.fail_after(60):  # a question has two minutes
        while not await decisions(host):  # noqa: ASYNC110  there is no event for it
            await anyio.sleep(0.01)


async def test_closing_the_page_ends_a_consent_question() -> None:
    host = Host({"board": board()})
    async with opened(host) as page:
        await call(page, "move")
        assert (await page.next())["type"] == "question"
        page.disconnect(closed=True)
        await ended_question(host)
    assert await decisions(host) == [("denied", "nobody", "The page was closed. Nobody allowed this.")]


async def test_an_app_tool_call_fails_at_once_when_the_page_with_its_question_is_closed() -> None:
    host = Host({"board": board()}, policy=Policy({"links": "ask"}))
    async with opened(host) as page, anyio.create_task_group() as tasks:

        async def link() -> None:
            with pytest.raises(RequestError, match="The page was closed"):
                await runtime_of(host).requests.check_link(
                    runtime_of(host).views.live(host_view(host)), "https://a.example"
                )

        tasks.start_soon(link)
        assert (await page.next())["type"] == "question"
        page.disconnect(closed=True)


async def test_a_question_survives_a_lost_socket_and_is_answered_on_the_next() -> None:
    host = Host({"board": board()})
    async with opened(host) as page:
        await call(page, "move", to=3)
        question = await page.next()
        page.disconnect()
        await anyio.wait_all_tasks_blocked()
        again = Page()
        record, _ = next(iter(runtime_of(host).views))
        await again.open(
            host, record.id, await runtime_of(host).tokens.issue(record.id), seen=page.seen, epoch=page.epoch
        )
        again._last = page._last
        assert (await again.next())["type"] == "resumed"
        await again.tell({"type": "command-result", "id": question["id"], "result": {"answer": "once"}})
        assert (await again.message())["result"]["content"][0]["text"] == "moved to 3"


async def test_a_question_ends_when_its_page_does_not_reconnect_and_is_not_shown_later() -> None:
    host = Host({"board": board()}, timeouts=Timeouts(browser=0.05))
    async with opened(host) as page:
        await call(page, "move")
        question = await page.next()
        page.disconnect()
        await ended_question(host)
        again = Page()
        record, _ = next(iter(runtime_of(host).views))
        await again.open(
            host, record.id, await runtime_of(host).tokens.issue(record.id), seen=page.seen - 1, epoch=page.epoch
        )
        assert (await again.next())["type"] == "resumed"
        assert await again.next() == {"type": "cancel-command", "id": question["id"]}
        assert "The page was lost." in (await again.message())["error"]["message"]


async def test_a_reload_ends_the_open_question_and_the_next_one_is_asked() -> None:
    host = Host({"board": board()})
    async with opened(host) as page:
        await call(page, "move")
        assert (await page.next())["type"] == "question"
        page.disconnect(closed=True)
        record, _ = next(iter(runtime_of(host).views))
        again = Page()
        await again.open(host, record.id, await runtime_of(host).tokens.issue(record.id))
        await again.next()
        await again.ask("ui/initialize", HELLO, id=0)
        await again.say({"method": "ui/notifications/initialized"})
        await call(again, "move")
        await answered(again, "once")
        assert "result" in await again.message()


async def test_a_question_ends_when_its_request_is_cancelled() -> None:
    async with opened(Host({"board": board()})) as page:
        await call(page, "move")
        question = await page.next()
        await page.say({"method": "notifications/cancelled", "params": {"requestId": 7}})
        assert await page.next() == {"type": "cancel-command", "id": question["id"]}


@pytest.mark.parametrize(("word", "allowed"), [("once", True), ("always", True), ("deny", False)])
async def test_without_a_page_the_handler_is_asked_and_without_both_the_request_is_denied(
    word: Any, allowed: bool
) -> None:
    host = Host({"board": board()})
    async with host:
        await host.servers.wait_until_settled()
        page = await view(host)
        page.disconnect()
        session = runtime_of(host).views.live(str(host_view(host)))
        with pytest.raises(RequestError, match="Nobody is there"):
            await runtime_of(host).requests.check_link(session, "https://a.example")
        questions: list[Question] = []

        @host.on_question
        async def ask(question: Question) -> Any:
            questions.append(question)
            return word

        if allowed:
            await runtime_of(host).requests.check_link(session, "https://a.example")
        else:
            with pytest.raises(RequestError, match="denied"):
                await runtime_of(host).requests.check_link(session, "https://a.example")
        assert questions[0].app.server == "board"
        assert questions[0].details == (("Address", "https://a.example"),)


def host_view(host: Host) -> str:
    ((record, _),) = list(runtime_of(host).views)
    return record.id


async def test_an_invalid_answer_of_the_handler_raises() -> None:
    host = Host({"board": board()})
    async with host:
        await host.servers.wait_until_settled()
        page = await view(host)
        page.disconnect()
        host.on_question(lambda question: True)  # type: ignore[arg-type,return-value]
        with pytest.raises(TypeError, match="returned True, expected one of: once, always, deny"):
            await runtime_of(host).requests.check_link(
                runtime_of(host).views.live(host_view(host)), "https://a.example"
            )


async def test_only_granted_permissions_are_delegated_and_only_allowed_domains_are_reachable() -> None:
    policy = Policy({"servers": {"board": {"permissions": ["geolocation"], "block_domains": ["evil.example"]}}})
    host = Host({"board": board()}, policy=policy)
    async with opened(host) as page:
        assert page.shown["allow"] == "geolocation"
        assert page.shown["network"] == ["https://api.example.com"]
        label, address = (
            page.shown["document"].removeprefix("http://").split(".")[0],
            page.shown["document"].rpartition("/")[2],
        )
        document = await runtime_of(host).opener.documents.get(label, address)
        assert document is not None
        assert "connect-src 'self' https://api.example.com;" in document.headers["content-security-policy"]
        assert "evil" not in document.headers["content-security-policy"]
        assert document.headers["permissions-policy"].startswith("camera=(), microphone=(), geolocation=(self)")


async def test_a_changed_document_is_not_shown_until_it_is_approved() -> None:
    html = [HTML]
    store = MemoryStore()
    host = Host({"board": board(html)}, policy=Policy({"pin_documents": True}), store=store)
    async with opened(host):
        html.append(HTML + "changed")
        runtime_of(host).reader.forget("board")
        with pytest.raises(ViewRefusedError, match=r"not shown\. The user denied this"):
            await view(host)
        page = Page()
        page.answer = "once"
        call = await begin(host, "board", "show")
        await page.open(host, call.view, call.token)
        assert (await page.next())["type"] == "show"
        await view(host)


async def test_the_program_can_approve_a_document() -> None:
    html = [HTML]
    host = Host({"board": board(html)}, policy=Policy({"pin_documents": True}))
    async with opened(host):
        html.append(HTML + "changed")
        runtime_of(host).reader.forget("board")
        document = await runtime_of(host).reader.read(host.servers["board"], "ui://board/view")
        await host.approve_document("board", "ui://board/view", document.sha256)
        await view(host)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain\ntext é 漢", "plain\ntext é 漢"),
        ("evil\u202efdp.exe", "evil<U+202E>fdp.exe"),
        ("a\u200bb\x00c\x1b[31m\ud800", "a<U+200B>b<U+0000>c<U+001B>[31m<U+D800>"),
        ({"a": "\u2066x"}, '{\n "a": "<U+2066>x"\n}'),
        ("x" * 3000, "x" * 2000 + " … (3,000 characters in all)"),
    ],
)
def test_texts_for_the_user_have_no_invisible_characters(value: Any, text: str) -> None:
    assert visible(value) == text


async def test_closing_a_view_drops_its_consent_state() -> None:
    host = Host({"board": board()})
    async with opened(host) as page:
        await call(page, "move")
        await answered(page, "once")
        await page.message()
        id = host_view(host)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(host.close_view, id)
            teardown = await page.message()
            await page.say({"id": teardown["id"], "result": {}})
        assert runtime_of(host).consent._views == {}
