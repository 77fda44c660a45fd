"""The pytest plugin, in pytest runs of its own."""

import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]

SERVER = '''
from mcp.server import MCPServer
from fanlight import Apps, View

VIEW = """<!doctype html><html><head><title>x</title></head><body><p id="p">…</p><button>More</button>
<script type="module">
import { App } from "@modelcontextprotocol/ext-apps";
const app = new App({ name: "x", version: "1" });
const p = document.querySelector("#p");
app.ontoolresult = ({ content }) => (p.textContent = content[0].text);
document.querySelector("button").onclick = async () => {
  const { content } = await app.callServerTool({ name: "more", arguments: {} });
  p.textContent = content[0].text;
  await app.updateModelContext({ content });
};
await app.connect();
</script></body></html>"""

server = MCPServer("x")
apps = Apps(server)
view = View.html(VIEW, uri="ui://x/view")

@apps.tool(view=view)
def show(word: str = "hello") -> str:
    "Show a word."
    return word

@apps.tool(view=view, visibility=["app"])
def more() -> str:
    "Another word."
    return "more"
'''

WAYS = {
    "anyio": ("anyio.pytest_plugin", "pytestmark = pytest.mark.anyio\n", ""),
    "asyncio": ("pytest_asyncio.plugin", "", "asyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n"),
}


class InnerPytest:
    """Runs pytest on test files, with one of the plugins that make async tests run."""

    def __init__(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
        self.pytester = pytester
        self.plugin, self.mark, ini = WAYS[way]
        monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
        pytester.makeini(f"[pytest]\n{ini}")
        pytester.makepyfile(shop=SERVER)
        pytester.makeconftest("import pytest\n\n@pytest.fixture\ndef anyio_backend():\n    return 'asyncio'\n")

    def __call__(self, tests: str, *options: str, **files: str) -> pytest.RunResult:
        """Run `test_it.py`, and further files by name."""
        for name, code in {"test_it": tests, **files}.items():
            shop = "from shop import server" if "(server" in code or ": server" in code else ""
            self.pytester.makepyfile(**{name: f"import pytest\n{shop}\n{self.mark}\n{code}"})
        plugins = ("-p", "fanlight.testing.plugin", "-p", "fanlight.check.plugin", "-p", self.plugin)
        return self.pytester.runpytest_subprocess(*plugins, *options, timeout=200)


def passed(result: pytest.RunResult, file: str) -> int:
    """Return how many tests of a file passed, in a run with -v."""
    return sum(line.startswith(f"{file}.py::") and " PASSED" in line for line in result.outlines)


@pytest.fixture
def inner_pytest(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> InnerPytest:
    return InnerPytest(pytester, monkeypatch, "anyio")


Run = Callable[..., pytest.RunResult]


@pytest.fixture
def run_once(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run pytest, or return the result of the same run in an earlier test."""

    def run(way: str, tests: str, *options: str, **files: str) -> pytest.RunResult:
        key = (way, tests, options, *files.items())
        if key not in _results:
            _results[key] = InnerPytest(pytester, monkeypatch, way)(tests, *options, **files)
        return _results[key]

    return run


_results: dict[tuple[object, ...], pytest.RunResult] = {}
ways = pytest.mark.parametrize("way", list(WAYS))

FIXTURES = """
async def test_host(app_host):
    async with app_host(server) as host:
        call = await host.conversation().call_tool("server__show", {"word": "tea"})
        assert call.for_model[0]["text"] == "tea"

async def test_scripted(scripted_view):
    async with scripted_view(server, "show", word="tea") as view:
        assert view.result["content"][0]["text"] == "tea"
        assert (await view.call_tool("more"))["content"][0]["text"] == "more"

async def test_both(app_host, scripted_view):
    async with app_host({"a": server}) as host, scripted_view.using(name="a")(host, "show") as view:
        assert view.result["content"][0]["text"] == "hello"

async def test_browser(open_view):
    async with open_view(server, "show", word="tea") as view:
        assert await view.frame.locator("#p").text_content() == "tea"
        await view.frame.get_by_role("button").click()
        await view.wait_until_settled()
        assert await view.frame.locator("#p").text_content() == "more"
        assert view.model_context == {"content": [{"type": "text", "text": "more"}]}
        assert (await view.screenshot()).startswith(b"\\x89PNG")
    assert view.sent("tools/call")[0]["name"] == "more"

def test_nothing_is_left():
    from pathlib import Path
    assert not Path(".fanlight").exists()
"""

SHARING = """
from fanlight.testing import browser as browsers

launches = []
original = browsers.launch_browser

def counted(*arguments):
    launches.append(arguments)
    return original(*arguments)

@pytest.fixture(scope="session", autouse=True)
def counting():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(browsers, "launch_browser", counted)
        yield

seen = set()

@pytest.mark.parametrize("number", range(2))
async def test_open(open_view, number):
    async with open_view(server, "show") as view, open_view(server, "show") as other:
        assert view.page.context.browser is other.page.context.browser
        assert view.page.context is not other.page.context
        seen.add(view.page.context.browser)
    assert len(launches) == 1

def test_connections():
    assert len(seen) == CONNECTIONS
"""


@ways
def test_fixtures_work_with_anyio_and_pytest_asyncio(way: str, run_once: Run) -> None:
    result = run_once(way, SHARING.replace("CONNECTIONS", "2"), "-v", "-W", "error", test_later=FIXTURES)
    assert passed(result, "test_later") == 5, result.outlines


@ways
def test_all_tests_share_one_browser_even_with_an_event_loop_each(way: str, run_once: Run) -> None:
    result = run_once(way, SHARING.replace("CONNECTIONS", "2"), "-v", "-W", "error", test_later=FIXTURES)
    assert passed(result, "test_it") == 3, result.outlines
    result.assert_outcomes(passed=8)
    result.stderr.no_fnmatch_line("*")


def test_tests_with_a_shared_event_loop_share_the_connection_to_the_browser(run_once: Run) -> None:
    scopes = ("asyncio_default_fixture_loop_scope=session", "asyncio_default_test_loop_scope=session")
    result = run_once(
        "asyncio",
        SHARING.replace("CONNECTIONS", "1"),
        "-W",
        "error",
        *(word for scope in scopes for word in ("-o", scope)),
    )
    result.assert_outcomes(passed=3)
    result.stderr.no_fnmatch_line("*")


OPENS = "async def test_it(open_view):\n    async with open_view(server, 'show'):\n        pass\n"


@ways
def test_a_missing_browser_fails_each_test_with_one_clear_error(
    way: str, run_once: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FANLIGHT_BROWSER", "no-such-browser")
    result = run_once(way, OPENS)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*BrowserMissingError: FANLIGHT_BROWSER is 'no-such-browser', and there is no such program."]
    )


def test_context_policy_browser_and_options_are_overridden_by_fixtures(inner_pytest: InnerPytest) -> None:
    result = inner_pytest(
        """
from fanlight.host import Policy
from fanlight.testing.browser import launch_browser
from fanlight.testing.scripted import HostError

@pytest.fixture
def fanlight_context():
    return {"theme": "dark", "locale": "de-DE"}

@pytest.fixture
def fanlight_policy():
    return Policy({"tools": "deny"})

@pytest.fixture
def fanlight_options():
    return {"size": (400, 300)}

@pytest.fixture
async def fanlight_browser():
    async with launch_browser() as browser:
        yield browser

async def test_scripted(scripted_view):
    async with scripted_view(server, "show") as view:
        assert view.context["theme"] == "dark"
        with pytest.raises(HostError):
            await view.call_tool("more")

async def test_browser(open_view, fanlight_browser):
    async with open_view(server, "show") as view:
        assert await view.frame.evaluate("navigator.language") == "de-DE"
        assert await view.frame.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
        assert view.page.viewport_size == {"width": 400, "height": 300}
        assert view.page.context.browser is fanlight_browser
    async with open_view.using(size=(500, 300))(server, "show") as view:
        assert view.page.viewport_size == {"width": 500, "height": 300}
"""
    )
    result.assert_outcomes(passed=2)


def test_a_failed_test_leaves_pictures_and_messages_in_a_folder_that_the_report_names(
    inner_pytest: InnerPytest,
) -> None:
    result = inner_pytest(
        """
@pytest.mark.parametrize("word", ["a/b"])
async def test_inside(open_view, scripted_view, word):
    async with scripted_view(server, "show"), open_view(server, "show", word=word) as view:
        assert view.model_context is not None

async def test_after(open_view):
    async with open_view(server, "show") as view:
        pass
    assert view.model_context is not None

async def test_never(open_view):
    async with open_view(server, "none"):
        pass

async def test_fine(open_view):
    async with open_view(server, "show"):
        pass
""",
        "--fanlight-output=left",
    )
    result.assert_outcomes(passed=1, failed=3)
    left = {str(path.relative_to("left")) for path in Path("left").rglob("*.*")}
    assert left == {
        "test_it/test_inside-a-b/scripted.jsonl",
        "test_it/test_inside-a-b/view.jsonl",
        "test_it/test_inside-a-b/view.png",
        "test_it/test_after/view.jsonl",
        "test_it/test_after/view.png",
    }
    result.stdout.fnmatch_lines(["*AssertionError*", "*- fanlight -*", "*left/test_it/test_inside-a-b/*"])
    result.stdout.fnmatch_lines(["*StageError: The server 'server' has no tool 'none'. Its tools are: show, more."])
    assert '"by": "view"' in Path("left/test_it/test_after/view.jsonl").read_text(encoding="utf-8")
    assert "ExceptionGroup" not in result.stdout.str()


PICTURE = """
import struct, zlib

def png(marks):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    raw = b"".join(b"\\0" + bytes([0 if y < marks else 255] * 100) for y in range(100))
    head = struct.pack(">IIBBBBB", 100, 100, 8, 0, 0, 0, 0)
    return b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")

async def test_look(assert_picture):
    await assert_picture(png(5), "the look")
"""
LATER = (
    PICTURE
    + """
async def test_changed(assert_picture):
    await assert_picture(png(7), "the look", tolerance=0.001)

async def test_tolerant(assert_picture):
    await assert_picture(png(7), "the look", tolerance=0.05)
"""
)


def test_a_picture_is_accepted_once_and_then_compared(inner_pytest: InnerPytest) -> None:
    first = inner_pytest(PICTURE)
    first.assert_outcomes(failed=1)
    first.stdout.fnmatch_lines(
        ["There is no picture *the-look.png yet; this one is at *the-look.actual.png. If it is*"]
    )
    inner_pytest(PICTURE, "--fanlight-update-pictures").assert_outcomes(passed=1)
    accepted = Path("pictures/test_it/the-look.png").read_bytes()

    later = inner_pytest(LATER, "-v")
    later.assert_outcomes(passed=2, failed=1)
    later.stdout.fnmatch_lines(["*::test_look PASSED*", "*::test_changed FAILED*", "*::test_tolerant PASSED*"])
    difference = "200 of 10,000 pixels differ (2.00%); 0.10% of the pixels may differ."
    later.stdout.fnmatch_lines([f"The picture the-look.png differs: {difference} Look at *.png.*"])
    evidence = Path(".fanlight/test_it/test_changed")
    assert {path.name for path in evidence.iterdir()} == {"the-look.actual.png", "the-look.difference.png"}
    assert Path("pictures/test_it/the-look.png").read_bytes() == accepted


def test_the_error_for_a_missing_browser_is_the_line_that_pytest_marks(
    run_once: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FANLIGHT_BROWSER", "no-such-browser")
    result = run_once("anyio", OPENS)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E * FANLIGHT_BROWSER is 'no-such-browser', and there is no such program."])


def test_a_server_that_breaks_a_rule_fails_with_the_report(inner_pytest: InnerPytest) -> None:
    result = inner_pytest(
        """
import sys
from types import ModuleType

class Report:
    def __init__(self, conforms):
        self.conforms = conforms

    def __str__(self):
        return "RES-01 is broken."

RUNNING = object()

async def check(subject, *, browser=True, skip=None):
    assert (subject, browser) == ("server.py", RUNNING)
    return Report(skip is not None)

@pytest.fixture(autouse=True)
def checked(monkeypatch):
    module = ModuleType("fanlight.check")
    module.check = check
    monkeypatch.setitem(sys.modules, "fanlight.check", module)

@pytest.fixture
def fanlight_browser():
    return RUNNING

async def test_bad(assert_conforms):
    await assert_conforms("server.py")

async def test_good(assert_conforms):
    await assert_conforms("server.py", skip={"RES-01": "known"})
"""
    )
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["RES-01 is broken."])


@pytest.mark.process
@pytest.mark.parametrize(("entry", "fixture"), [("fanlight", "open_view"), ("fanlight-check", "assert_conforms")])
def test_the_plugins_are_entry_points_and_cost_next_to_nothing(entry: str, fixture: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    name = project["entry-points"]["pytest11"][entry]
    assert hasattr(import_module(name), fixture)
    code = f"import sys, pytest; before = set(sys.modules); import {name}; print(*sorted(set(sys.modules) - before))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    heavy = {"anyio", "mcp", "playwright", "starlette", "uvicorn", "pydantic", "fanlight.host", "fanlight.protocol"}
    assert not heavy & set(loaded.stdout.split())
    assert len(loaded.stdout.split()) < 10, loaded.stdout


STARTS_ON_IMPORT = {
    "test_sdk": "from mcp.server import MCPServer as Server",
    "test_fastmcp": "from fastmcp import FastMCP as Server",
}


@pytest.mark.process
@pytest.mark.parametrize("file", STARTS_ON_IMPORT)
def test_a_server_that_starts_on_import_is_one_clear_error(file: str, run_once: Run) -> None:
    starts = "\n\nserver = Server('clock')\nserver.run()\n\ndef test_it():\n    pass\n"
    result = run_once(
        "anyio",
        "def test_fine():\n    pass\n",
        "--continue-on-collection-errors",
        **{name: line + starts for name, line in STARTS_ON_IMPORT.items()},
    )
    result.assert_outcomes(passed=1, errors=2)
    result.stdout.fnmatch_lines([f"*{file}.py:8 starts the server while the module is imported.*"])
    assert "UnsupportedOperation" not in result.stdout.str()
