"""Problems: what can go wrong, and how it is explained."""

import contextlib
import io
import logging
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import anyio
import httpx2
import pytest
from playwright.async_api import Browser, expect

from fanlight.cli import main
from fanlight.dev.targets import servers
from fanlight.inspector.view_log import LOGGER, ViewLogHandler, printed
from support.inspecting import call, in_process, opened, running, view

pytestmark = pytest.mark.anyio

SERVER = """
from mcp.server import MCPServer
server = MCPServer("unhappy")
{body}
if __name__ == "__main__":
    server.run("stdio")
"""

LINKED = """
@server.tool(meta={{"ui": {{"resourceUri": "ui://unhappy/view"}}}})
def show() -> str:
    return "shown"

@server.resource("ui://unhappy/view", mime_type="{mime}")
def document() -> str:
    return {html!r}
"""


READY = """<!doctype html>
<script>
  const say = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
  addEventListener("message", ({ data }) => {
    if (data.id === "hi") say({ method: "ui/notifications/initialized" });
    if (data.method === "ui/resource-teardown") say({ id: data.id, result: {} });
  });
  const params = { protocolVersion: "2026-01-26", appInfo: { name: "R", version: "1" }, appCapabilities: {} };
  say({ id: "hi", method: "ui/initialize", params });
</script>
"""
GREETING = """<!doctype html>
<script>parent.postMessage({ jsonrpc: "2.0", id: 1, method: "ui/initialize", params: PARAMS }, "*")</script>
"""


def written(folder: Path, body: str) -> str:
    path = folder / "unhappy.py"
    path.write_text(SERVER.format(body=body), encoding="utf-8")
    return str(path)


def linked(folder: Path, html: str, mime: str = "text/html;profile=mcp-app") -> str:
    return written(folder, LINKED.format(html=html, mime=mime))


def linked_file(folder: Path, html: str) -> str:
    """Write a server whose View is a file beside it, and return its path."""
    (folder / "view.html").write_text(html, encoding="utf-8")
    link = "@apps.tool(view='view.html')\ndef show() -> str:\n    return ''"
    return written(folder, f"from fanlight import Apps\napps = Apps(server)\n{link}")


async def test_a_server_that_does_not_start_shows_its_log(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("raise RuntimeError('no database here')", encoding="utf-8")
    with running(servers([str(path)])) as (inspector, address):
        async with opened(browser, inspector, address) as (page, problems):
            await expect(page.get_by_role("alert")).to_contain_text("no database here")
            assert problems == []


async def test_tools_without_views_can_be_called(browser: Browser, tmp_path: Path) -> None:
    body = "@server.tool()\ndef plain() -> str:\n    return 'only text'"
    with running(in_process(written(tmp_path, body))) as (inspector, address):
        async with opened(browser, inspector, address) as (page, problems):
            await expect(page.get_by_role("navigation")).to_contain_text("No tool of this server has a View.")
            await call(page, "plain")
            await expect(page.get_by_role("article")).to_contain_text("only text")
            assert problems == []


async def test_two_hundred_tools_can_be_searched(browser: Browser, tmp_path: Path) -> None:
    body = "for n in range(200):\n    server.add_tool(lambda n=n: f'tool {n}', name=f'tool_{n}', description='One.')"
    with running(in_process(written(tmp_path, body))) as (inspector, address):
        async with opened(browser, inspector, address) as (page, problems):
            nav = page.get_by_role("navigation")
            await expect(nav.locator("li")).to_have_count(200)
            await nav.get_by_label("Find a tool").fill("tool_199")
            await expect(nav.locator("li")).to_have_count(1)
            await expect(nav.get_by_label("Find a tool")).to_be_focused()
            await call(page, "tool_199")
            await expect(page.get_by_role("article")).to_contain_text("tool 199")
            assert problems == []


@pytest.mark.parametrize(
    ("html", "reason"),
    [
        ("<!doctype html><p>Nobody calls connect here.</p>", "The View was loaded, but never sent ui/initialize."),
        ("</div><table><b <p>this is no HTML", "The View was loaded, but never sent ui/initialize."),
        (
            "<!doctype html>\n<p>Two\n<script>\nconst a = 1;\nnothing.here();\n</script>",
            "JavaScript error at ui://unhappy/view:5:1: Uncaught ReferenceError: nothing is not defined",
        ),
        (
            "<!doctype html><script type=module>await 0; throw new DOMException('no such key', 'DataError')</script>",
            re.compile("JavaScript error at .*no such key"),
        ),
        (
            "<!doctype html><script>Promise.reject(new Error('late and lost'))</script>",
            re.compile("JavaScript error at .*late and lost"),
        ),
        (
            "<!doctype html><script src='https://cdn.example/sdk.js'></script>",
            "The View's policy blocked https://cdn.example/sdk.js (script-src-elem)",
        ),
        (
            GREETING.replace("PARAMS", "7"),
            "The handshake was rejected",
        ),
        (
            GREETING.replace("PARAMS", "{}"),
            "never sent ui/notifications/initialized",
        ),
    ],
)
async def test_a_blank_view_is_explained_by_the_step_that_failed(
    html: str, reason: str | re.Pattern[str], browser: Browser, tmp_path: Path
) -> None:
    with running(in_process(linked(tmp_path, html))) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await call(page, "show")
            await expect(page.locator(".problems")).to_contain_text(reason)
            await page.get_by_role("tab", name="Problems").click()
            await expect(page.get_by_role("tabpanel")).to_contain_text(reason)


async def test_the_line_that_failed_is_shown(browser: Browser, tmp_path: Path) -> None:
    html = "<!doctype html>\n<script>\n  const settings = JSON.parse('{');\n</script>"
    with running(in_process(linked(tmp_path, html))) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await call(page, "show")
            await expect(page.locator(".problems pre")).to_have_text("const settings = JSON.parse('{');")


HANDLER = """<!doctype html>
<script type="module">
  import { App } from "@modelcontextprotocol/ext-apps";
  const app = new App({ name: "V", version: "1" });
  app.ontoolresult = (result) => result.nothing.here;
  await app.connect();
</script>
"""


QUIET = HANDLER.replace("result.nothing.here", "result")


async def test_a_javascript_error_has_the_authors_file_and_line(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "rows.js").write_text("// The rows.\n\nconst rows = undefined;\nrows.map(String);\n", encoding="utf-8")
    link = "@apps.tool(view='{name}.html')\ndef show_{name}() -> str:\n    return ''\n"
    scripts = {"first": '<script src="rows.js"></script>', "second": "<script>\n\n  nothing.here();\n</script>"}
    for name, script in scripts.items():
        (tmp_path / f"{name}.html").write_text(f"{QUIET}{script}\n", encoding="utf-8")
    body = f"from fanlight import Apps\napps = Apps(server)\n{link.format(name='first')}{link.format(name='second')}"
    with running(servers([written(tmp_path, body)])) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await call(page, "show_first")
            await expect(page.locator(".problems")).to_contain_text("JavaScript error at rows.js:4:6: ")
            await expect(page.locator(".problems pre")).to_have_text("rows.map(String);")
            await call(page, "show_second")
            message = "JavaScript error at second.html:10:3: Uncaught ReferenceError: nothing is not defined"
            await expect(page.locator(".problems").first).to_contain_text(message)
            await expect(page.locator(".problems pre").first).to_have_text("nothing.here();")


async def test_violations_are_listed_for_each_view_with_the_authors_line(browser: Browser, tmp_path: Path) -> None:
    script = 'await fetch("https://api.example/x").catch(() => 0);\n'
    html = QUIET.replace("  const app", f"  {script}  const app")
    (tmp_path / "view.html").write_text(html, encoding="utf-8")
    link = "@apps.tool(view='view.html')\ndef show() -> str:\n    return ''"
    body = f"from fanlight import Apps\napps = Apps(server)\n{link}"
    with running(servers([written(tmp_path, body)])) as (inspector, address):
        async with opened(browser, inspector, address, "#/unhappy/show?panel=Security") as (page, _):
            panel = page.get_by_role("tabpanel")
            for number in (1, 2):
                await call(page)
                await expect(page.get_by_role("article")).to_have_count(number)
                await expect(page.get_by_role("tab", name="Security").locator(".count")).to_be_visible()
                await expect(panel).to_contain_text("connect-src https://api.example/x, view.html:4")
            (tmp_path / "view.html").write_text(QUIET, encoding="utf-8")
            await expect(page.get_by_text("view.html changed; reloading unhappy.")).to_be_visible()
            await call(page)
            await expect(page.get_by_role("article")).to_have_count(3)
            # The browser reports some violations for the app alone; those of the first two Views are not this one's.
            await expect(panel).to_contain_text("Blocked by the browserNothing.")
            await expect(page.get_by_role("tab", name="Security").locator(".count")).to_have_count(0)


BLOCKED = """<!doctype html>
<button>Draw</button>
<script type="module">
  import { App } from "@modelcontextprotocol/ext-apps";
  const app = new App({ name: "x", version: "1" });
  document.querySelector("button").onclick = () => {
    document.body.append(Object.assign(new Image(), { src: URL.createObjectURL(new Blob(["x"])) }));
  };
  await app.connect();
  try {
    new Function("return 1")();
  } catch {}
</script>
"""


async def test_violations_are_problems_with_a_fix_whenever_they_occur(
    browser: Browser, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(servers([linked_file(tmp_path, BLOCKED)])) as (inspector, address):
        wide = {"width": 1400, "height": 900}
        async with opened(browser, inspector, address, "#/unhappy/show?panel=Problems", viewport=wide) as (page, _):
            await call(page)
            panel, count = page.get_by_role("tabpanel"), page.get_by_role("tab", name="Problems").locator(".count")
            await expect(panel).to_contain_text("The View's policy blocked eval (script-src), view.html:11")
            await expect(panel).to_contain_text('render_mode="svg"')
            await expect(count).to_have_text("1")
            await view(page).get_by_role("button").click()
            await expect(panel).to_contain_text("The View's policy blocked blob (img-src)")
            await expect(panel).to_contain_text("canvas.toDataURL()")
            await expect(page.locator(".problems")).to_contain_text("canvas.toDataURL()")
            await expect(count).to_have_text("2")
            # With badges on two tabs, all tabs are still there in full.
            await expect(page.get_by_role("tab", name="Security").locator(".count")).to_have_text("2")
            assert await page.locator("#tabs").evaluate("tabs => tabs.scrollWidth <= tabs.clientWidth")
            await call(page)
            await expect(panel.get_by_role("heading")).to_have_count(2)  # the problems of all open calls
            await expect(count).to_have_text("3")
    printed = [line for line in capsys.readouterr().err.splitlines() if "policy blocked" in line]
    assert len(printed) == 2  # once for each document, however often it is shown
    assert printed[0].startswith("  view.html:11 The View's policy blocked eval (script-src). A View must not compile")


async def test_an_error_is_cleared_when_the_next_version_cannot_be_read(browser: Browser, tmp_path: Path) -> None:
    broken = QUIET.replace("  const app", "  nothing.here();\n  const app")
    with running(servers([linked_file(tmp_path, broken)])) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await call(page, "show")
            problems = page.locator(".problems")
            await expect(problems).to_contain_text("nothing is not defined")
            (tmp_path / "view.html").write_text(f"{QUIET}<img src=missing.png>", encoding="utf-8")
            await expect(problems).to_contain_text("The View cannot be shown")
            await expect(problems).not_to_contain_text("nothing is not defined")
            # The reason itself, which other hosts do not get.
            await expect(problems).to_contain_text("missing.png")
            await expect(problems).not_to_contain_text("log has the reason")


async def test_a_javascript_error_is_printed_with_the_authors_file_and_line(
    browser: Browser, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = QUIET.replace("  const app", "  throw new TypeError('no \\x1b[31m\\n numbers');\n  const app")
    with running(servers([linked_file(tmp_path, broken)])) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await call(page, "show")
            await expect(page.locator(".problems")).to_contain_text("JavaScript error at view.html:4:")
    printed = capsys.readouterr().err.splitlines()
    assert "  view.html:4:9 TypeError: no  [31m  numbers" in printed
    assert not any("'column'" in line for line in printed)


async def test_an_error_of_the_sdk_is_placed_where_the_author_called_it(browser: Browser, tmp_path: Path) -> None:
    broken = QUIET.replace("  await app.connect();", "  await app.connect();\n  app.registerTool('x', {}, 5);\n")
    with running(servers([linked_file(tmp_path, broken)])) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await call(page, "show")
            await expect(page.locator(".problems")).to_contain_text("JavaScript error at view.html:")
            await expect(page.locator(".problems pre")).to_have_text("app.registerTool('x', {}, 5);")


def test_other_log_messages_of_views_are_printed_in_one_line() -> None:
    output = io.StringIO()
    logger = logging.Logger("views")
    logger.addHandler(ViewLogHandler(output))
    error = {"text": "x", "file": "", "line": 1, "column": 2}
    for data in ("out of\nink", {"level": 3}, error):
        logger.warning("%s: %r", "id", data, extra={"view": "id", "view_data": data})
    logger.info("not shown", extra={"view": "id", "view_data": "quiet"})
    assert output.getvalue() == "  out of ink\n  id: {'level': 3}\n"


def test_log_messages_of_views_are_printed_for_a_block_even_if_the_terminal_is_gone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    output, logger = io.StringIO(), logging.getLogger(LOGGER)
    handlers, propagate = list(logger.handlers), logger.propagate
    with printed(output):
        logger.warning("one")
        assert output.getvalue() == "  one\n"
        output.close()
        logger.warning("two")  # does not raise
    assert (logger.handlers, logger.propagate) == (handlers, propagate)
    assert "I/O operation on closed file" in capsys.readouterr().err


@pytest.mark.process
async def test_a_server_that_fails_at_once_waits_for_the_next_change(browser: Browser, tmp_path: Path) -> None:
    path = Path(written(tmp_path, "@server.tool()\ndef plain() -> str:\n    return 'text'"))
    good = path.read_text("utf-8")
    starts = tmp_path / "starts.txt"
    count = f"open({str(starts)!r}, 'a').write('x')\n"
    with running(servers([str(path)])) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            nav = page.get_by_role("navigation")
            await expect(nav.get_by_role("button", name="plain")).to_be_visible()
            path.write_text(f"{count}raise SystemExit('broken')", encoding="utf-8")
            await expect(nav).to_contain_text("stopped; waiting for a change")
            await expect(nav).to_contain_text("broken")
            await page.wait_for_timeout(2_500)  # several times the pause between two attempts
            assert starts.read_text("utf-8") == "x"
            path.write_text(good.replace("plain", "repaired"), encoding="utf-8")
            await expect(nav.get_by_role("button", name="repaired")).to_be_visible()


async def test_an_error_in_a_handler_is_reported(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "view.html").write_text(HANDLER, encoding="utf-8")
    link = "@apps.tool(view='view.html')\ndef show() -> str:\n    return ''"
    body = f"from fanlight import Apps\napps = Apps(server)\n{link}"
    with running(servers([written(tmp_path, body)])) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await call(page, "show")
            await expect(page.locator(".problems")).to_contain_text("JavaScript error at view.html:5:")
            await expect(page.locator(".problems")).to_contain_text("reading 'here'")


async def test_an_exception_of_a_tool_is_shown_with_the_authors_frames_and_the_log(
    browser: Browser, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tool = "def fail() -> str:\n    print('out of ink', file=sys.stderr)\n    raise ValueError('no paper')"
    body = f"import sys\n@server.tool()\n{tool}"
    with running(servers([written(tmp_path, body)])) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await call(page, "fail")
            problems = page.locator(".problems")
            await expect(problems).to_contain_text("The tool raised ValueError: no paper")
            await expect(problems.locator("pre")).to_contain_text("unhappy.py:8 in fail")
            await expect(problems.locator("pre")).to_contain_text("raise ValueError('no paper')")
            await expect(problems.locator("pre")).to_contain_text("out of ink")
            await expect(problems.locator("pre")).not_to_contain_text("anyio")
            await page.get_by_text("Server details").click()
            await expect(page.locator(".log")).to_contain_text("out of ink")
    printed = capsys.readouterr().err
    shown = "  unhappy: ValueError: no paper\n  unhappy:   unhappy.py:8 in fail\n"
    assert shown + "  unhappy:     raise ValueError('no paper')\n" in printed
    assert "anyio" not in printed


async def test_closing_waits_for_the_views_answer_to_teardown(browser: Browser, tmp_path: Path) -> None:
    body = LINKED.format(html=READY, mime="text/html;profile=mcp-app")
    with running(in_process(written(tmp_path, body))) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await call(page, "show")
            await expect(page.get_by_role("tabpanel")).to_contain_text("ui/notifications/tool-result")
            await page.get_by_role("button", name="Close show").first.click()
            await expect(page.get_by_role("article")).to_have_count(0)
            closed = [record async for record in inspector.host.audit() if record.name == "(answer)"]
            assert closed, "the View's answer was not read before it was closed"


async def test_a_wrong_mime_type_and_a_missing_document_are_explained(browser: Browser, tmp_path: Path) -> None:
    with running(in_process(linked(tmp_path, "<p>x", mime="text/plain"))) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await call(page, "show")
            await expect(page.locator(".problems")).to_contain_text("text/plain")
            await expect(page.locator(".problems")).to_contain_text("Write 'text/html;profile=mcp-app'.")
    body = LINKED.format(html="", mime="text/html;profile=mcp-app").replace(
        '@server.resource("ui://unhappy/view"', '@server.resource("ui://unhappy/other"'
    )
    with running(in_process(written(tmp_path, body))) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await call(page, "show")
            await expect(page.locator(".problems")).to_contain_text("ui://unhappy/view")
            await expect(page.locator(".problems")).to_contain_text("exactly the URI")


async def test_a_view_of_twenty_megabytes_is_shown(browser: Browser, tmp_path: Path) -> None:
    body = LINKED.format(html="", mime="text/html;profile=mcp-app").replace(
        "return ''", "return '<!doctype html><p id=big>big</p><!--' + 'x' * 20_000_000 + '-->'"
    )
    with running(in_process(written(tmp_path, body))) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await call(page, "show")
            await expect(view(page).locator("#big")).to_be_visible(timeout=60_000)


def test_a_wrong_path_lists_the_files_that_exist(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "server.py").write_text("", encoding="utf-8")
    assert main(["dev", str(tmp_path / "sever.py")]) == 2
    output = capsys.readouterr().err
    assert "sever.py does not exist" in output
    assert "contains server.py" in output


@pytest.mark.process
async def test_a_port_in_use_is_skipped_and_a_missing_browser_is_ignored(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "fanlight.cli", "dev", "--port", str(port), "--theme", "dark", "--no-reload"]
        environment = {"PATH": "", "BROWSER": "/does/not/exist"}
        process = await anyio.open_process(
            [*command, str(tmp_path / "x.py")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        with anyio.fail_after(60):
            await process.wait()
            assert process.returncode == 2
        (tmp_path / "x.py").write_text("", encoding="utf-8")
        process = await anyio.open_process(
            [*command, str(tmp_path / "x.py")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
        )
        assert process.stdout is not None
        output = ""
        try:
            with anyio.fail_after(60):
                while "Ctrl+C" not in output:
                    output += (await process.stdout.receive()).decode()
            found = re.search(r"http://localhost:(\d+)/\?token=\S+", output)
            assert found is not None
            assert f"Port {port} is in use. Port {found[1]} is used instead." in output
            assert int(found[1]) != port
            async with httpx2.AsyncClient(follow_redirects=True) as http:
                assert "fanlight dev" in (await http.get(found[0])).text
                async with http.stream("GET", f"http://localhost:{found[1]}/api/events"):  # as an open page does
                    process.send_signal(signal.SIGINT)
                    with anyio.fail_after(30):
                        output = b"".join([piece async for piece in process.stdout]).decode()
            assert "Traceback" not in output
            assert "ERROR" not in output
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            with anyio.fail_after(30):
                await process.wait()


@pytest.mark.parametrize("port", ["65536", "-1", "http"])
def test_an_invalid_port_is_rejected(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["dev", f"--port={port}"])
    assert "is not a port" in capsys.readouterr().err


def test_an_address_that_cannot_be_bound_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dev", "--host", "192.0.2.7", "--no-open"]) == 2
    assert "Cannot listen on 192.0.2.7, port 8000" in capsys.readouterr().err
