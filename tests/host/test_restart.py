"""Views that go on after the process of their host ended: nothing is repeated, and no View is loaded again."""

import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp.server import MCPServer
from playwright.async_api import Browser, expect
from starlette.applications import Starlette

import fanlight
from fanlight import Apps, View
from fanlight.host import AuditRecord, CallCancelledError, Host, Policy, SqliteStore
from fanlight.host.host import runtime_of
from fanlight.host.views.page.channel import RESTARTING
from support.browser import problems_of, view_frame
from support.calls import begin, call_tool
from support.child import stopping
from support.page import WITH_TOOLS, Page, continued, shown

pytestmark = pytest.mark.anyio

OPEN = Policy({"tools": "allow", "messages": "allow"})
LOST = "The host was restarted before it answered this request. It may have been carried out, so it was not repeated."


class Notes:
    """A server that records calls. `write` never returns from "hang", and returns from "slow" after `release`."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.release = anyio.Event()
        self.server: MCPServer[Any] = MCPServer("notes")
        apps = Apps(self.server)
        apps.view(View.html("<!doctype html><title>x</title>", uri="ui://notes/view"))

        @apps.tool(view="ui://notes/view")
        def show(text: str = "") -> str:
            return text

        @apps.tool(view="ui://notes/view")
        async def hang() -> str:
            self.calls.append("hang")
            await anyio.sleep_forever()
            return ""

        @self.server.tool()
        async def write(text: str) -> str:
            self.calls.append(text)
            if text == "hang":
                await anyio.sleep_forever()
            if text == "slow":
                await self.release.wait()
            return f"written: {text}"


@asynccontextmanager
async def hosting(notes: Notes, path: Path, **options: Any) -> AsyncIterator[Host]:
    async with Host({"notes": notes.server}, store=SqliteStore(path), policy=OPEN, **options) as host:
        await host.servers["notes"].ready()
        yield host


async def messages_of(page: Page, count: int) -> list[dict[str, Any]]:
    return [await page.message() for _ in range(count)]


def methods(messages: list[dict[str, Any]]) -> list[str]:
    return [message.get("method", "response") for message in messages]


async def test_a_view_goes_on_and_a_request_without_a_response_is_not_repeated(tmp_path: Path) -> None:
    """Goes red if the frames that were sent before are carried out again."""
    notes = Notes()
    async with hosting(notes, tmp_path / "host.db") as host:
        call = await call_tool(host, "notes", "show", {"text": "a"}, "c1")
        page = await shown(host, call.view, call.token)
        assert methods(await messages_of(page, 2)) == ["ui/notifications/tool-input", "ui/notifications/tool-result"]
        request = {"id": "w", "method": "tools/call", "params": {"name": "write", "arguments": {"text": "hang"}}}
        await page.say(request)
        while not notes.calls:  # noqa: ASYNC110
            await anyio.sleep(0.01)
        # Another process, which has only the file; this one does not notice that it "ended".
        async with hosting(notes, tmp_path / "host.db") as other:
            lost = [{"id": "w", "method": "tools/call"}]
            again = await continued(other, page, call.view, call.token, requests=lost)
            assert again.shown == {"type": "resumed", "seen": 0, "restarted": True}
            context, failed = sorted(await messages_of(again, 2), key=lambda message: "id" in message)
            assert context["method"] == "ui/notifications/host-context-changed"
            assert failed["error"] == {"code": -32000, "message": LOST}
            # The page sends again all that was not acknowledged.
            await again.receive_by_host({"type": "message", "message": {"jsonrpc": "2.0", **request}, "n": 3, "ack": 3})
            answer = await again.ask("tools/call", {"name": "write", "arguments": {"text": "next"}}, id=9)
            assert answer["result"]["content"][0]["text"] == "written: next"
            assert notes.calls == ["hang", "next"]
            records = [record async for record in other.audit(kind="message", name="tools/call")]
            assert [record.outcome for record in records] == ["lost", "ok"]


@pytest.mark.parametrize("missing", [2, 1, 0])
async def test_a_view_gets_what_it_had_not_received(missing: int, tmp_path: Path) -> None:
    notes = Notes()
    async with hosting(notes, tmp_path / "host.db") as host:
        call = await begin(host, "notes", "show", "c1")
        page = await shown(host, call.view, call.token)
        await call.run({"text": "a"})
        sent = methods(await messages_of(page, 2))
        assert sent == ["ui/notifications/tool-input", "ui/notifications/tool-result"]
        async with hosting(notes, tmp_path / "host.db") as other:
            again = await continued(other, page, call.view, call.token, seen=page.seen - missing)
            got = methods(await messages_of(again, missing + 1))
            assert got == ["ui/notifications/host-context-changed", *sent[2 - missing :]]


async def test_notifications_that_were_not_acknowledged_are_carried_out(tmp_path: Path) -> None:
    notes = Notes()
    async with hosting(notes, tmp_path / "host.db") as host:
        call = await call_tool(host, "notes", "show", {}, "c1")
        page = await shown(host, call.view, call.token, WITH_TOOLS)
        await messages_of(page, 3)
    async with hosting(notes, tmp_path / "host.db") as other:
        again = await continued(other, page, call.view, call.token, sent=10)
        size = {"jsonrpc": "2.0", "method": "ui/notifications/size-changed", "params": {"height": 321}}
        await again.receive_by_host({"type": "message", "message": size, "n": 4, "ack": 0})
        frames = [await again.next() for _ in range(3)]
        assert {"type": "resize", "height": 321} in frames


async def test_what_the_page_did_for_the_former_process_is_not_applied_to_this_one(tmp_path: Path) -> None:
    """Goes red if an answer to a question of the former process can be taken for one to a question of this process."""
    notes = Notes()
    async with hosting(notes, tmp_path / "host.db") as host:
        call = await call_tool(host, "notes", "show", {}, "c1")
        page = await shown(host, call.view, call.token, WITH_TOOLS)
        await messages_of(page, 3)
        # Another process, which has only the file; this one does not notice that it "ended".
        async with hosting(notes, tmp_path / "host.db") as other:
            again = await continued(other, page, call.view, call.token, sent=10)
            session = runtime_of(other).views.live(str(call.view))
            done: list[object] = []
            session.receive_command_result = done.append  # type: ignore[method-assign,assignment]
            await again.receive_by_host(
                {"type": "command-result", "id": 1, "result": {"answer": "once"}, "n": 4, "ack": 0}
            )
            assert done == []
            await again.receive_by_host({"type": "close", "n": 5, "ack": 0})
            assert not session.is_closed
            # What it reports about its surroundings is still true.
            await again.receive_by_host({"type": "display-mode", "mode": "fullscreen", "n": 6, "ack": 0})
            await again.receive_by_host({"type": "context", "context": {"locale": "de"}, "n": 7, "ack": 0})
            assert (session.context["displayMode"], session.context["locale"]) == ("fullscreen", "de")
            # And what it does from now on counts.
            await again.receive_by_host(
                {"type": "command-result", "id": 1, "result": {"answer": "deny"}, "n": 11, "ack": 0}
            )
            assert len(done) == 1


async def test_ids_of_another_process_are_never_those_of_this_one(tmp_path: Path) -> None:
    """Goes red if ids begin at 1 again: an answer to the question of another process would decide this one's."""
    notes = Notes()
    path = tmp_path / "host.db"
    async with Host({"notes": notes.server}, store=SqliteStore(path)) as host:
        call = await call_tool(host, "notes", "show", {}, "c1")
        page = await shown(host, call.view, call.token, WITH_TOOLS)
        first = next(message for message in await messages_of(page, 3) if message.get("method") == "tools/list")
        await page.say({"id": "w", "method": "tools/call", "params": {"name": "write", "arguments": {"text": "x"}}})
        question = await page.next()
        async with Host({"notes": notes.server}, store=SqliteStore(path)) as other:
            again = await continued(other, page, call.view, call.token)
            asked = [message for message in await messages_of(again, 2) if message.get("method") == "tools/list"]
            assert asked[0]["id"] != first["id"]
            answer = {"type": "command-result", "id": question["id"], "result": {"answer": "always"}}
            params = {"name": "write", "arguments": {"text": "y"}}
            await again.say({"id": "v", "method": "tools/call", "params": params})
            second = await again.next()
            assert (second["type"], second["id"] != question["id"]) == ("question", True)
            await again.tell(answer)
            assert await other.grants() == []
            assert notes.calls == []


@pytest.mark.parametrize("change", [{"epoch": "another"}, {"epoch": None}, {"seen": None}])
async def test_a_page_that_cannot_prove_that_it_shows_the_view_loads_it(change: dict[str, Any], tmp_path: Path) -> None:
    notes = Notes()
    async with hosting(notes, tmp_path / "host.db") as host:
        call = await call_tool(host, "notes", "show", {}, "c1")
        page = await shown(host, call.view, call.token, WITH_TOOLS)
    async with hosting(notes, tmp_path / "host.db") as other:
        again = await continued(other, page, call.view, call.token, **change)
        assert again.shown["type"] == "show"


async def test_a_view_that_was_not_initialized_is_loaded_again(tmp_path: Path) -> None:
    notes = Notes()
    async with hosting(notes, tmp_path / "host.db") as host:
        call = await call_tool(host, "notes", "show", {}, "c1")
        page = await Page().open(host, call.view, call.token)
        await page.next()
        await page.ask("ui/initialize", WITH_TOOLS, id=0)
    async with hosting(notes, tmp_path / "host.db") as other:
        assert (await continued(other, page, call.view, call.token)).shown["type"] == "show"


PROGRAM = """
import os, sys
from pathlib import Path
from mcp.server import MCPServer
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route
from fanlight import Apps, View
from fanlight.host import Host, Policy
from support.calls import call_tool
from support.program import chat_page

HTML = '''<!doctype html><title>Notes</title><input id="typed"><p id="shown"></p><p id="answer"></p>
<script type="module">
  import { App } from "@modelcontextprotocol/ext-apps";
  const app = new App({ name: "Notes", version: "1" });
  window.loads = (window.loads ?? 0) + 1;
  app.ontoolresult = () => (shown.textContent += "result ");
  await app.connect();
  window.write = async (text) => {
    answer.textContent = "";
    try {
      answer.textContent = (await app.callServerTool({ name: "write", arguments: { text } })).content[0].text;
    } catch (error) {
      answer.textContent = `failed: ${error.message}`;
    }
  };
</script>'''

folder = Path(os.environ["FOLDER"])
server = MCPServer("notes")
apps = Apps(server)

@apps.tool(view=View.html(HTML, uri="ui://notes/view"))
def show() -> str:
    return "shown"

@server.tool()
async def write(text: str) -> str:
    import anyio
    with (folder / "written").open("a") as file:
        file.write(f"{text}\\n")
    if text == "slow":
        await anyio.sleep(600)
    return f"written: {text}"

host = Host({"notes": server}, store=f"sqlite:///{folder / 'host.db'}", policy=Policy({"tools": "allow"}))

async def page(request):
    return HTMLResponse(chat_page(await call_tool(host, "notes", "show", {})))

app = host.wrap(Starlette(routes=[Route("/", page)]))
"""


@asynccontextmanager
async def program(folder: Path, port: int) -> AsyncIterator[anyio.abc.Process]:
    path = os.pathsep.join([str(Path(fanlight.__file__).parents[1]), str(Path(__file__).parents[1]), str(folder)])
    environment = {**os.environ, "PYTHONPATH": path, "FOLDER": str(folder)}
    command = [sys.executable, "-m", "uvicorn", "notes_program:app", "--port", str(port), "--log-level", "warning"]
    process = await anyio.open_process(command, env=environment, stdout=None, stderr=None)
    async with stopping(process):
        async with httpx2.AsyncClient() as http:
            with anyio.fail_after(120):
                while True:
                    try:
                        await http.get(f"http://127.0.0.1:{port}/nothing")
                        break
                    except httpx2.ConnectError:
                        await anyio.sleep(0.05)
        yield process


def read(path: Path) -> str:
    """Return what is in a file, or nothing if there is none yet."""
    return path.read_text(encoding="utf-8") if path.exists() else ""


@pytest.mark.process
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
async def test_a_program_that_ends_and_is_started_again_continues_in_the_browser(
    end: signal.Signals, browser: Browser, tmp_path: Path
) -> None:
    (tmp_path / "notes_program.py").write_text(PROGRAM, encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    page = await browser.new_page()
    problems_of(page)
    async with program(tmp_path, port) as first:
        await page.goto(f"http://localhost:{port}/")
        view = await view_frame(page)
        await expect(view.locator("#shown")).to_have_text("result ")
        await view.locator("#typed").fill("not saved anywhere")
        await view.evaluate("void write('slow')")
        with anyio.fail_after(60):
            while "slow" not in read(tmp_path / "written"):  # noqa: ASYNC110
                await anyio.sleep(0.02)
        first.send_signal(end)
        await first.wait()
    await view.evaluate("void write('queued')")
    async with program(tmp_path, port):
        await expect(view.locator("#answer")).to_have_text("written: queued")
        await expect(view.locator("#typed")).to_have_value("not saved anywhere")
        assert await view.evaluate("window.loads") == 1
        await view.evaluate("write('again')")
        await expect(view.locator("#answer")).to_have_text("written: again")
        await expect(view.locator("#shown")).to_have_text("result ")
        assert (tmp_path / "written").read_text(encoding="utf-8").split() == ["slow", "queued", "again"]
    await page.close()


class SlowAudit(SqliteStore):
    """Records audit records after a while, once it is slow."""

    is_slow = False
    is_recording = False

    async def record(self, records: Sequence[AuditRecord]) -> None:
        if self.is_slow:
            self.is_recording = True
            await anyio.sleep(0.2)
        await super().record(records)


async def test_a_host_that_stops_hands_over_a_response_that_is_just_being_recorded(tmp_path: Path) -> None:
    """Goes red if the session ends while another of its tasks has a response that the page was not sent."""
    notes, store = Notes(), SlowAudit(tmp_path / "host.db")
    async with Host({"notes": notes.server}, store=store, policy=OPEN) as host:
        await host.servers["notes"].ready()
        call = await call_tool(host, "notes", "show", {}, "c1")
        page = await shown(host, call.view, call.token)
        await messages_of(page, 2)
        store.is_slow = True
        await page.say({"id": "n", "method": "tools/call", "params": {"name": "write", "arguments": {"text": "now"}}})
        while not (notes.calls and store.is_recording):  # noqa: ASYNC110
            await anyio.sleep(0.01)
    async with hosting(notes, tmp_path / "host.db") as other:
        again = await continued(other, page, call.view, call.token, requests=[{"id": "n", "method": "tools/call"}])
        assert (await again.message())["id"] == "n"


class SlowViews(SqliteStore):
    """Waits before it stores a change of a View, once it is slow."""

    is_slow = False

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.is_storing = anyio.Event()
        self.go_on = anyio.Event()

    async def change(self, *arguments: Any, **options: Any) -> Any:
        if self.is_slow:
            self.is_storing.set()
            await self.go_on.wait()
        return await super().change(*arguments, **options)


async def test_a_request_that_arrives_while_a_host_stops_is_carried_out_once(tmp_path: Path) -> None:
    """Goes red if the session still takes frames of its page after it has noted which ones it received."""
    notes, store = Notes(), SlowViews(tmp_path / "host.db")
    late = {"id": "l", "method": "tools/call", "params": {"name": "write", "arguments": {"text": "late"}}}
    async with Host({"notes": notes.server}, store=store, policy=OPEN) as host, anyio.create_task_group() as tasks:
        await host.servers["notes"].ready()
        call = await call_tool(host, "notes", "show", {}, "c1")
        page = await shown(host, call.view, call.token)
        await messages_of(page, 2)
        store.is_slow = True
        tasks.start_soon(host.drain, 60)
        with anyio.fail_after(60):
            await store.is_storing.wait()
        await page.say(late)
        await anyio.wait_all_tasks_blocked()
        store.go_on.set()
    async with hosting(notes, tmp_path / "host.db") as other:
        again = await continued(other, page, call.view, call.token, requests=[{"id": "l", "method": "tools/call"}])
        again._last -= 1  # the page sends again what the host has not received
        await again.say(late)
        answers = {message.get("id"): message for message in await messages_of(again, 2)}  # the other is the context
        assert answers["l"]["result"]["content"][0]["text"] == "written: late"
    assert notes.calls == ["late"]


async def test_a_host_that_stops_hands_over_what_the_page_has_not_received(tmp_path: Path) -> None:
    notes = Notes()
    async with hosting(notes, tmp_path / "host.db") as host:
        call = await begin(host, "notes", "show", "c1")
        page = await shown(host, call.view, call.token)
        await call.run({"text": "a"})
        await page.say({"id": "n", "method": "tools/call", "params": {"name": "write", "arguments": {"text": "now"}}})
        await page.say({"id": "h", "method": "tools/call", "params": {"name": "write", "arguments": {"text": "hang"}}})
        while len(notes.calls) < 2:  # noqa: ASYNC110
            await anyio.sleep(0.01)
    assert page.closed == RESTARTING
    async with hosting(notes, tmp_path / "host.db") as other:
        again = await continued(other, page, call.view, call.token)  # the page has seen the handshake only
        assert again.shown == {"type": "resumed", "seen": 4}
        messages = await messages_of(again, 5)
        assert methods(messages[:2]) == ["ui/notifications/tool-input", "ui/notifications/tool-result"]
        answers = {message["id"]: message for message in messages if "id" in message}
        assert answers["n"]["result"]["content"][0]["text"] == "written: now"
        assert answers["h"]["error"]["message"].startswith("The host stopped before it finished this request.")
        answer = await again.ask("tools/call", {"name": "write", "arguments": {"text": "next"}}, id=9)
        assert answer["result"]["content"][0]["text"] == "written: next"
        assert notes.calls == ["now", "hang", "next"]


async def test_a_process_that_crashes_after_it_continued_for_another_repeats_nothing(tmp_path: Path) -> None:
    """Goes red if what the first process stored of its channel is used twice."""
    notes = Notes()
    path = tmp_path / "host.db"
    async with hosting(notes, path) as first:
        call = await call_tool(first, "notes", "show", {}, "c1")
        page = await shown(first, call.view, call.token)
        await messages_of(page, 2)
    async with hosting(notes, path) as second:
        again = await continued(second, page, call.view, call.token)
        request = {"id": "h", "method": "tools/call", "params": {"name": "write", "arguments": {"text": "hang"}}}
        await again.say(request)
        while not notes.calls:  # noqa: ASYNC110
            await anyio.sleep(0.01)
        async with hosting(notes, path) as third:
            lost = [{"id": "h", "method": "tools/call"}]
            last = await continued(third, again, call.view, call.token, seen=page.seen, requests=lost)
            assert last.shown == {"type": "resumed", "seen": 0, "restarted": True}
            number = again._last
            await last.receive_by_host({"type": "message", "message": {"jsonrpc": "2.0", **request}, "n": number})
            errors = [message for message in await messages_of(last, 2) if "error" in message]
            assert errors[0]["error"]["message"] == LOST
            assert notes.calls == ["hang"]


async def test_draining_waits_for_requests_and_calls_and_takes_no_new_pages(tmp_path: Path) -> None:
    notes = Notes()
    async with hosting(notes, tmp_path / "host.db") as host, anyio.create_task_group() as tasks:
        idle = await call_tool(host, "notes", "show", {}, "c1")
        idle_page = await shown(host, idle.view, idle.token)
        busy = await call_tool(host, "notes", "show", {}, "c1")
        page = await shown(host, busy.view, busy.token)
        await messages_of(page, 2)
        await page.say({"id": "s", "method": "tools/call", "params": {"name": "write", "arguments": {"text": "slow"}}})
        while not notes.calls:  # noqa: ASYNC110
            await anyio.sleep(0.01)
        tasks.start_soon(host.drain, 60)
        while idle_page.closed is None:  # noqa: ASYNC110
            await anyio.sleep(0.01)
        assert page.closed is None
        transport = httpx2.ASGITransport(app=host.wrap(Starlette()))
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost:8000") as http:
            health = await http.get("/apps/health")
            assert (health.status_code, health.json()["reasons"]) == (503, ["The host is stopping."])
        notes.release.set()
        assert (await page.message())["result"]["content"][0]["text"] == "written: slow"
        while page.closed is None:  # noqa: ASYNC110
            await anyio.sleep(0.01)


async def test_draining_cancels_what_does_not_finish_in_time(tmp_path: Path) -> None:
    notes = Notes()
    async with hosting(notes, tmp_path / "host.db") as host, anyio.create_task_group() as tasks:
        call = await begin(host, "notes", "hang", "c1")
        failed: list[CallCancelledError] = []

        async def run() -> None:
            try:
                await call.run({})
            except CallCancelledError as error:
                failed.append(error)

        tasks.start_soon(run)
        while not notes.calls:  # noqa: ASYNC110
            await anyio.sleep(0.01)
        await host.drain(0.1)
    assert failed[0].message == "The host was stopped before the call finished."
    async with hosting(notes, tmp_path / "host.db") as other:
        assert (await other.view(str(call.view))).call == "cancelled"
