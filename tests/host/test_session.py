from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import pytest

from fanlight.host.consent.policy import App
from fanlight.host.errors import RequestError
from fanlight.host.settings import Timeouts
from fanlight.host.tasks import HostTasks
from fanlight.host.views.interfaces import Progress
from fanlight.host.views.page.frames import CommandResult, LostRequest, PageAck, ReceivedFrame
from fanlight.host.views.requests.message import ViewMessage
from fanlight.host.views.session import Session
from fanlight.protocol.bridge import Bridge
from support.page import SHOW, Page

pytestmark = pytest.mark.anyio

APP = App("v1", "server", "ui://server/view", "show")

CAPABILITIES: dict[str, Any] = {
    "serverTools": {},
    "serverResources": {},
    "openLinks": {},
    "downloadFile": {},
    "sampling": {},
}
HELLO = {"protocolVersion": "2026-01-26", "appInfo": {"name": "V", "version": "1"}, "appCapabilities": {"tools": {}}}


class Backend:
    """A request handler and log whose behaviour each test sets."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.fails: Exception | None = None
        self.hangs = False
        self.asks = False
        self.tools_changed = 0
        self.written: list[Any] = []
        self.cancelled = anyio.Event()

    async def _note(self, *what: Any) -> None:
        self.calls.append(what)
        if self.fails is not None:
            raise self.fails
        if self.hangs:
            try:
                await anyio.sleep_forever()
            finally:
                self.cancelled.set()

    async def call_tool(
        self, session: Session, name: str, arguments: dict[str, Any], progress: Progress
    ) -> dict[str, Any]:
        await progress(1, 2, None)
        await self._note("tool", name, arguments)
        return {"content": [], "_meta": {"kept": True}}

    async def ask_server(self, session: Session, method: str, params: dict[str, Any]) -> dict[str, Any]:
        await self._note(method, params)
        return {"resources": []}

    async def sample(self, session: Session, params: dict[str, Any]) -> dict[str, Any]:
        await self._note("sample", params)
        return {"role": "assistant"}

    async def add_message(self, session: Session, role: str, content: tuple[dict[str, Any], ...]) -> None:
        await self._note("message", content)

    async def update_context(self, session: Session, update: dict[str, Any]) -> Awaitable[None] | None:
        work = self._note("context", update)
        if self.asks:
            return work
        await work
        return None

    async def keep_state(self, session: Session, state: Any) -> None:
        await self._note("state", state)

    def log_dialect(self, app: App, older: str, today: str) -> None:
        self.written.append((older, today))

    async def check_link(self, session: Session, url: str) -> None:
        await self._note("open-link", url)

    async def download(
        self, session: Session, contents: tuple[dict[str, Any], ...]
    ) -> tuple[list[dict[str, Any]], list[str]]:
        await self._note("download", contents)
        return [{"name": "a.txt", "mimeType": "text/plain", "text": "x"}], ["https://a.example/b.pdf"]

    async def log_response(self, app: App, request: ViewMessage, response: dict[str, Any], size: int) -> None:
        self.written.append((request.method, "error" in response, size))

    def log_notification(self, app: App, message: ViewMessage, event: Any) -> None:
        self.written.append((message.method,))

    def log_cancelled(self, app: App, request: ViewMessage) -> None:
        self.written.append((request.method, "cancelled"))

    def log_lost(self, app: App, request: LostRequest, reason: str) -> None:
        self.written.append((request.method, "lost"))

    def log_rejected(self, app: App, message: ViewMessage, reason: str) -> None:
        self.written.append((message.method, reason))

    async def app_tools_changed(self, session: Session) -> None:
        self.tools_changed += 1

    async def close(self, session: Session) -> None:
        await session.close("the View asked for it")


class Stage:
    def __init__(self, session: Session, page: Page, backend: Backend) -> None:
        self.session, self.page, self.backend = session, page, backend

    async def ask(self, method: str, params: dict[str, Any], id: Any = 7) -> None:
        await self.session.receive({"jsonrpc": "2.0", "id": id, "method": method, "params": params})

    async def tell(self, method: str, params: dict[str, Any]) -> None:
        await self.session.receive({"jsonrpc": "2.0", "method": method, "params": params})


@asynccontextmanager
async def live(timeouts: Timeouts | None = None, *, ready: bool = True) -> AsyncIterator[Stage]:
    context = {"displayMode": "inline", "availableDisplayModes": ["inline", "fullscreen"]}
    bridge = Bridge({"name": "H", "version": "1"}, CAPABILITIES, context, tools={"add"})
    backend, page = Backend(), Page()
    async with HostTasks() as tasks:
        session = Session(APP, bridge, backend, backend, tasks, backend.close, timeouts=timeouts)
        await session.begin(page, SHOW, {})
        assert (await page.next())["type"] == "show"
        stage = Stage(session, page, backend)
        if ready:
            await stage.ask("ui/initialize", HELLO, id=0)
            await page.message()
            await stage.tell("ui/notifications/initialized", {})
        yield stage


async def test_a_views_tool_call_gets_the_servers_result() -> None:
    async with live() as stage:
        await stage.ask("tools/call", {"name": "add", "arguments": {"a": 1}, "_meta": {"progressToken": "p"}})
        assert (await stage.page.message())["params"] == {"progressToken": "p", "progress": 1, "total": 2}
        assert (await stage.page.message())["result"] == {"content": [], "_meta": {"kept": True}}
        assert stage.backend.calls == [("tool", "add", {"a": 1})]


@pytest.mark.parametrize(
    ("method", "params", "call"),
    [
        ("resources/list", {}, ("resources/list", {})),
        ("sampling/createMessage", {"messages": []}, ("sample", {"messages": []})),
        ("ui/message", {"role": "user", "content": []}, ("message", ())),
        (
            "ui/update-model-context",
            {"structuredContent": {"a": 1}},
            ("context", {"content": [], "structuredContent": {"a": 1}}),
        ),
    ],
)
async def test_each_request_of_a_view_reaches_the_host_and_gets_a_response(
    method: str, params: dict[str, Any], call: tuple[Any, ...]
) -> None:
    async with live() as stage:
        await stage.ask(method, params)
        assert "result" in await stage.page.message()
        assert stage.backend.calls == [call]


@pytest.mark.parametrize(
    ("level", "logged"), [("debug", "DEBUG"), ("notice", "INFO"), ("warning", "WARNING"), ("emergency", "ERROR")]
)
async def test_a_views_log_message_is_one_line_of_limited_length(
    level: str, logged: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "fanlight.views")
    async with live() as stage:
        await stage.tell("notifications/message", {"level": level, "data": {"text": "a\nb" + "c" * 10_000}})
    (line,) = [record for record in caplog.records if record.name == "fanlight.views"]
    assert line.levelname == logged
    assert line.message.startswith(r"v1: {'text': 'a\nbccc")
    assert len(line.message) < 2100


async def test_a_refused_request_gets_an_error_with_the_reason() -> None:
    async with live() as stage:
        stage.backend.fails = RequestError("Not today.", data={"why": "policy"})
        await stage.ask("ui/open-link", {"url": "https://a.example"})
        assert (await stage.page.message())["error"] == {
            "code": -32000,
            "message": "Not today.",
            "data": {"why": "policy"},
        }


async def test_an_exception_in_the_host_gets_an_error_without_details_and_the_session_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with live() as stage:
        stage.backend.fails = RuntimeError("a secret path")
        await stage.ask("resources/list", {})
        assert (await stage.page.message())["error"] == {"code": -32603, "message": "The host failed to answer."}
        stage.backend.fails = None
        await stage.ask("resources/list", {})
        assert "result" in await stage.page.message()
    assert "a secret path" in caplog.text


async def test_a_request_that_the_view_cancels_is_stopped() -> None:
    async with live() as stage:
        stage.backend.hangs = True
        await stage.ask("resources/list", {}, id="slow")
        await anyio.wait_all_tasks_blocked()
        await stage.tell("notifications/cancelled", {"requestId": "slow"})
        with anyio.fail_after(60):
            await stage.backend.cancelled.wait()
        await stage.ask("ping", {})
        assert (await stage.page.message())["id"] == 7


async def test_a_view_is_served_while_the_user_is_asked_about_its_update() -> None:
    """Goes red if the update is awaited where the page's answer arrives: neither would ever come."""
    async with live() as stage:
        stage.backend.asks = stage.backend.hangs = True
        with anyio.fail_after(60):
            await stage.ask("ui/update-model-context", {"content": []}, id="asks")
            await anyio.wait_all_tasks_blocked()
            await stage.ask("ping", {})
            assert (await stage.page.message())["id"] == 7
            await stage.tell("notifications/cancelled", {"requestId": "asks"})
            await stage.backend.cancelled.wait()


async def test_an_update_that_the_web_server_interrupts_gets_an_error() -> None:
    """Goes red if a request has no response for ever, because the task of the page's socket was cancelled."""
    async with live() as stage:
        stage.backend.hangs = True
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(stage.ask, "ui/update-model-context", {"content": []}, id="cut"))
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
        stage.backend.hangs = False
        await stage.session.flush()
        message = await stage.page.message()
        assert (message["id"], "was interrupted" in message["error"]["message"]) == ("cut", True)
        assert not stage.session.has_open_requests


async def test_a_link_is_opened_by_the_page_if_the_host_allows_it() -> None:
    async with live() as stage:
        await stage.ask("ui/open-link", {"url": "https://a.example"})
        frame = await stage.page.next()
        assert (frame["type"], frame["url"]) == ("open-link", "https://a.example")
        stage.session.receive_command_result(CommandResult(frame["id"], {}))
        assert (await stage.page.message())["result"] == {}


async def test_a_command_that_fails_in_the_page_is_an_error_for_the_view() -> None:
    async with live() as stage:
        await stage.ask("ui/download-file", {"contents": []})
        frame = await stage.page.next()
        assert frame["files"][0]["name"] == "a.txt"
        stage.session.receive_command_result(CommandResult(frame["id"], error="The disk is full."))
        assert (await stage.page.message())["error"]["message"] == "The disk is full."


async def test_a_web_link_in_a_download_is_opened_by_the_page() -> None:
    async with live() as stage:
        await stage.ask("ui/download-file", {"contents": []})
        saved = await stage.page.next()
        stage.session.receive_command_result(CommandResult(saved["id"], {}))
        opened = await stage.page.next()
        assert (opened["type"], opened["url"]) == ("open-link", "https://a.example/b.pdf")
        stage.session.receive_command_result(CommandResult(opened["id"], {}))
        assert (await stage.page.message())["result"] == {}


async def test_a_command_to_a_silent_page_times_out() -> None:
    async with live(Timeouts(browser=0.01)) as stage:
        await stage.ask("ui/open-link", {"url": "https://a.example"})
        assert (await stage.page.next())["type"] == "open-link"
        assert await stage.page.next() == {"type": "cancel-command", "id": 1}
        assert "in time" in (await stage.page.message())["error"]["message"]


async def test_a_new_display_mode_is_sent_as_response_and_as_context() -> None:
    async with live() as stage:
        await stage.ask("ui/request-display-mode", {"mode": "fullscreen"})
        frame = await stage.page.next()
        stage.session.receive_command_result(CommandResult(frame["id"], {"mode": "fullscreen"}))
        assert (await stage.page.message())["params"] == {"displayMode": "fullscreen"}
        assert (await stage.page.message())["result"] == {"mode": "fullscreen"}


@pytest.mark.case("mcp-apps-life-06")
async def test_the_height_is_sent_to_the_page_and_the_width_is_ignored() -> None:
    async with live() as stage:
        await stage.tell("ui/notifications/size-changed", {"width": 100, "height": 50})
        assert await stage.page.next() == {"type": "resize", "height": 50}
        await stage.tell("ui/notifications/size-changed", {"width": 100})
        await stage.ask("ping", {})
        assert (await stage.page.message())["id"] == 7


async def test_a_message_without_a_page_is_sent_to_the_next_page() -> None:
    async with live() as stage:
        stage.session.detach(stage.page)
        stage.session.tool_input({"a": 1})
        await stage.session.flush()
        other = Page()
        await stage.session.resume(other, stage.page.seen)
        assert await other.next() == {"type": "resumed", "seen": 0}
        assert (await other.message())["method"] == "ui/notifications/tool-input"


async def test_frames_in_flight_when_the_socket_is_lost_are_sent_again() -> None:
    async with live() as stage:
        await stage.ask("ping", {}, id=1)
        await stage.page.message()
        await stage.ask("ping", {}, id=2)
        stage.session.detach(stage.page)
        other = Page()
        await stage.session.resume(other, stage.page.seen)
        await other.next()
        assert (await other.message())["id"] == 2
        assert other.frames.empty()


async def test_a_command_that_timed_out_is_not_sent_to_the_next_page() -> None:
    async with live(Timeouts(browser=0.01)) as stage:
        await stage.ask("ui/open-link", {"url": "https://a.example"})
        seen = stage.page.seen
        assert (await stage.page.next())["type"] == "open-link"
        assert (await stage.page.next())["type"] == "cancel-command"
        assert "in time" in (await stage.page.message())["error"]["message"]
        other = Page()
        await stage.session.resume(other, seen)
        assert [(await other.next())["type"] for _ in range(3)] == ["resumed", "cancel-command", "message"]


async def test_a_partial_input_is_in_flight_until_the_page_acknowledges_it() -> None:
    async with live() as stage:
        stage.session.tool_input_partial({"a": 1})
        await stage.session.flush()
        assert stage.session.partial_in_flight
        await stage.page.message()
        stage.session.accept(ReceivedFrame(PageAck(), None, stage.page.seen, 10))
        assert not stage.session.partial_in_flight


async def test_the_host_is_notified_of_app_tools_and_of_their_changes() -> None:
    async with live() as stage:
        await anyio.wait_all_tasks_blocked()
        assert stage.backend.tools_changed == 1
        await stage.tell("notifications/tools/list_changed", {})
        await anyio.wait_all_tasks_blocked()
        assert stage.backend.tools_changed == 2


async def test_an_app_tool_is_called_and_returns_its_result() -> None:
    async with live() as stage, anyio.create_task_group() as tasks:
        results: list[dict[str, Any]] = []

        async def call() -> None:
            results.append(await stage.session.ask("tools/call", {"name": "move"}))

        tasks.start_soon(call)
        message = await stage.page.message()
        assert (message["id"], message["method"]) == (1, "tools/call")
        await stage.session.receive({"jsonrpc": "2.0", "id": 1, "result": {"content": []}})
        await anyio.wait_all_tasks_blocked()
        assert results == [{"content": []}]


async def test_a_call_of_a_silent_app_tool_times_out() -> None:
    async with live(Timeouts(app_tool=0.01)) as stage:
        with pytest.raises(RequestError, match="did not answer tools/call"):
            await stage.session.ask("tools/call", {"name": "move"})
        assert (await stage.page.message())["method"] == "tools/call"
        assert (await stage.page.message())["params"] == {"requestId": 1}


@pytest.mark.parametrize("answer", [{"result": {}}, {"error": {"code": -32601, "message": "no"}}, None])
async def test_closing_asks_the_view_to_tear_down_with_a_time_limit(answer: dict[str, Any] | None) -> None:
    async with live(Timeouts(teardown=0.05 if answer is None else 5)) as stage, anyio.create_task_group() as tasks:
        tasks.start_soon(stage.session.close, "bye")
        message = await stage.page.message()
        assert (message["method"], message["params"]) == ("ui/resource-teardown", {"reason": "bye"})
        if answer is not None:
            await stage.session.receive({"jsonrpc": "2.0", "id": message["id"], **answer})
        assert await stage.page.next() == {"type": "closed"}
        assert stage.session.is_closed


async def test_a_view_that_was_never_ready_is_closed_at_once() -> None:
    async with live(ready=False) as stage:
        await stage.session.close()
        assert await stage.page.next() == {"type": "closed"}


async def test_invalid_messages_do_not_end_the_session() -> None:
    async with live() as stage:
        nonsenses: list[Any] = [None, 7, [], {}, {"jsonrpc": "2.0"}, {"jsonrpc": "2.0", "id": 5, "result": {}}]
        for nonsense in nonsenses:
            await stage.session.receive(nonsense)
        await stage.ask("ping", {})
        messages = [await stage.page.message()]
        while messages[-1].get("id") != 7:
            messages.append(await stage.page.message())
        assert messages[-1]["result"] == {}


async def test_nothing_is_kept_of_a_cancelled_request() -> None:
    async with live() as stage:
        stage.backend.hangs = True
        for id in range(20):
            await stage.ask("tools/call", {"name": "add"}, id=f"a{id}")
            await stage.tell("notifications/cancelled", {"requestId": f"a{id}"})
        await anyio.wait_all_tasks_blocked()
        requests = stage.session._open_requests
        assert (requests._messages, requests._scopes) == ({}, {})


async def test_an_exception_in_one_session_does_not_end_the_others(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Exception):
        pass

    async with live() as stage:

        def fail(*_: object) -> None:
            raise Broken

        stage.backend.log_response = fail  # type: ignore[method-assign, assignment]
        await stage.ask("tools/call", {"name": "add"})
        await anyio.wait_all_tasks_blocked()
        stage.session.list_changed("tools")
        await anyio.wait_all_tasks_blocked()
    assert [type(record.exc_info[1]) for record in caplog.records if record.exc_info] == [Broken]
