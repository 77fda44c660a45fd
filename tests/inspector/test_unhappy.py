"""What goes wrong, in words that a person can act on."""

import contextlib
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


async def test_a_server_that_does_not_start_shows_what_it_wrote(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("raise RuntimeError('no database here')", encoding="utf-8")
    with running(servers([str(path)])) as (inspector, address):
        async with opened(browser, inspector, address) as (page, problems):
            await expect(page.get_by_role("alert")).to_contain_text("no database here")
            assert problems == []


async def test_a_server_without_views_says_so_and_is_called(browser: Browser, tmp_path: Path) -> None:
    body = "@server.tool()\ndef plain() -> str:\n    return 'only text'"
    with running(in_process(written(tmp_path, body))) as (inspector, address):
        async with opened(browser, inspector, address) as (page, problems):
            await expect(page.get_by_role("navigation")).to_contain_text("No tool of this server has a View.")
            await call(page, "plain")
            await expect(page.get_by_role("article")).to_contain_text("only text")
            assert problems == []


async def test_two_hundred_tools_are_listed_and_found(browser: Browser, tmp_path: Path) -> None:
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
        ("<!doctype html><p>Nobody calls connect here.</p>", "The View was loaded, and never sent ui/initialize."),
        ("</div><table><b <p>this is no HTML", "The View was loaded, and never sent ui/initialize."),
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
async def test_a_blank_view_says_which_step_failed(
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
            await expect(page.locator(".problems code")).to_have_text("const settings = JSON.parse('{');")


HANDLER = """<!doctype html>
<script type="module">
  import { App } from "@modelcontextprotocol/ext-apps";
  const app = new App({ name: "V", version: "1" });
  app.ontoolresult = (result) => result.nothing.here;
  await app.connect();
</script>
"""


QUIET = HANDLER.replace("result.nothing.here", "result")


async def test_an_error_is_told_with_the_authors_file_and_line(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "rows.js").write_text("// The rows.\n\nconst rows = undefined;\nrows.map(String);\n", encoding="utf-8")
    link = "@apps.tool(view='{name}.html')\ndef show_{name}() -> str:\n    return ''\n"
    scripts = {"first": '<script src="rows.js"></script>', "second": "<script>\n\n  nothing.here();\n</script>"}
    for name, script in scripts.items():
        (tmp_path / f"{name}.html").write_text(f"{QUIET}{script}\n", encoding="utf-8")
    body = f"from fanlight import Apps\napps = Apps(server)\n{link.format(name='first')}{link.format(name='second')}"
    with running(servers([written(tmp_path, body)])) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await call(page, "show_first")
            await expect(page.locator(".problems")).to_contain_text("JavaScript error at rows.js:4: ")
            await expect(page.locator(".problems code")).to_have_text("rows.map(String);")
            await call(page, "show_second")
            words = "JavaScript error at second.html:10: Uncaught ReferenceError: nothing is not defined"
            await expect(page.locator(".problems").first).to_contain_text(words)
            await expect(page.locator(".problems code").first).to_have_text("nothing.here();")


async def test_what_was_blocked_is_told_of_each_view_with_the_authors_line(browser: Browser, tmp_path: Path) -> None:
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
            await expect(page.get_by_text("view.html changed: unhappy is loaded anew.")).to_be_visible()
            await call(page)
            await expect(page.get_by_role("article")).to_have_count(3)
            # Of those two, some were told of the app alone; none of it is this one's.
            await expect(panel).to_contain_text("Blocked by the browserNothing.")
            await expect(page.get_by_role("tab", name="Security").locator(".count")).to_have_count(0)


async def test_an_error_in_a_handler_is_told(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "view.html").write_text(HANDLER, encoding="utf-8")
    link = "@apps.tool(view='view.html')\ndef show() -> str:\n    return ''"
    body = f"from fanlight import Apps\napps = Apps(server)\n{link}"
    with running(servers([written(tmp_path, body)])) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await call(page, "show")
            await expect(page.locator(".problems")).to_contain_text("JavaScript error at view.html:5: ")
            await expect(page.locator(".problems")).to_contain_text("reading 'here'")


async def test_a_tool_that_fails_stands_beside_what_its_server_wrote(browser: Browser, tmp_path: Path) -> None:
    tool = "def fail() -> str:\n    print('out of ink', file=sys.stderr)\n    raise ValueError('no')"
    body = f"import sys\n@server.tool()\n{tool}"
    with running(servers([written(tmp_path, body)])) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await call(page, "fail")
            await expect(page.locator(".problems")).to_contain_text("The tool failed")
            await expect(page.locator(".problems code")).to_contain_text("out of ink")
            await page.get_by_text("More of this server").click()
            await expect(page.locator(".log")).to_contain_text("out of ink")


async def test_a_view_is_closed_as_soon_as_it_is_ready(browser: Browser, tmp_path: Path) -> None:
    body = LINKED.format(html=READY, mime="text/html;profile=mcp-app")
    with running(in_process(written(tmp_path, body))) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await call(page, "show")
            await expect(page.get_by_role("tabpanel")).to_contain_text("ui/notifications/tool-result")
            await page.get_by_role("button", name="Close show").first.click()
            await expect(page.get_by_role("article")).to_have_count(0)
            closed = [record for record in inspector.host.audit() if record.name == "(answer)"]
            assert closed, "the View's answer was not read before it was closed"


async def test_a_wrong_mime_type_and_a_missing_document_are_named(browser: Browser, tmp_path: Path) -> None:
    with running(in_process(linked(tmp_path, "<p>x", mime="text/plain"))) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await call(page, "show")
            await expect(page.locator(".problems")).to_contain_text("text/plain")
            await expect(page.locator(".problems")).to_contain_text("Serve the resource as text/html;profile=mcp-app.")
    body = LINKED.format(html="", mime="text/html;profile=mcp-app").replace(
        '@server.resource("ui://unhappy/view"', '@server.resource("ui://unhappy/other"'
    )
    with running(in_process(written(tmp_path, body))) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await call(page, "show")
            await expect(page.locator(".problems")).to_contain_text("ui://unhappy/view")
            await expect(page.locator(".problems")).to_contain_text("byte for byte")


async def test_a_view_of_twenty_megabytes_is_shown(browser: Browser, tmp_path: Path) -> None:
    body = LINKED.format(html="", mime="text/html;profile=mcp-app").replace(
        "return ''", "return '<!doctype html><p id=big>big</p><!--' + 'x' * 20_000_000 + '-->'"
    )
    with running(in_process(written(tmp_path, body))) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await call(page, "show")
            await expect(view(page).locator("#big")).to_be_visible(timeout=60_000)


def test_a_wrong_path_says_what_is_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "server.py").write_text("", encoding="utf-8")
    assert main(["dev", str(tmp_path / "sever.py")]) == 2
    words = capsys.readouterr().err
    assert "sever.py does not exist" in words
    assert "holds server.py" in words


@pytest.mark.process
async def test_a_taken_port_is_passed_over_and_no_browser_is_no_trouble(tmp_path: Path) -> None:
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
        said = ""
        try:
            with anyio.fail_after(60):
                while "Ctrl+C" not in said:
                    said += (await process.stdout.receive()).decode()
            assert f"Port {port} is in use." in said
            found = re.search(r"http://localhost:(\d+)/\?token=\S+", said)
            assert found is not None
            assert int(found[1]) != port
            async with httpx2.AsyncClient(follow_redirects=True) as http:
                assert "fanlight dev" in (await http.get(found[0])).text
                async with http.stream("GET", f"http://localhost:{found[1]}/api/events"):  # as an open page does
                    process.send_signal(signal.SIGINT)
                    with anyio.fail_after(30):
                        said = b"".join([piece async for piece in process.stdout]).decode()
            assert "Traceback" not in said
            assert "ERROR" not in said
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            with anyio.fail_after(30):
                await process.wait()


@pytest.mark.parametrize("port", ["99999", "-1", "http"])
def test_what_is_no_port_is_refused(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["dev", f"--port={port}"])
    assert "is no port" in capsys.readouterr().err


def test_an_address_of_another_machine_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dev", "--host", "192.0.2.7", "--no-open"]) == 2
    assert "Cannot listen on 192.0.2.7, port 8000" in capsys.readouterr().err
