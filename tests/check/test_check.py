"""`check` on real servers and Views: in process, over stdio and HTTP, and in a real browser."""

import re
import sys
from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import pytest
from fastmcp import FastMCP
from fastmcp.apps import AppConfig
from mcp.server import MCPServer
from mcp.server.apps import Apps as SdkApps
from mcp_types import CallToolResult
from playwright.async_api import Browser

from check.views import WRONG, raw
from fanlight import Apps, View
from fanlight.check import ConnectError, Report, UsageError, check, scenes, scripted_host
from fanlight.check.progress import Progress
from fanlight.check.run import apply_rules
from fanlight.check.scenes import play
from fanlight.check.scripted_host import PagePool, SceneSetup
from fanlight.host.upstream.config import parse_target
from fanlight.rules.observation import Document, ServerObservation, ViewObservation
from support.docs import ROOT
from support.examples import server_of
from support.published import Published
from support.wire import serving

pytestmark = pytest.mark.anyio

EXAMPLES = sorted(path.parent.name for path in (ROOT / "examples").glob("*/server.py"))
OURS = ("cart", "sales", "import", "booking")
"""The examples whose Views come with Fanlight: their authors could not follow advice about them."""


def ids(report: Report) -> set[str]:
    return {finding.rule.id for finding in report.open}


def serious(report: Report) -> list[str]:
    return [finding.key for finding in report.open if finding.level != "note"]


class Reports:
    """Reports of several targets. A check mostly waits, so that of a target also does those of its neighbours."""

    def __init__(self, names: Sequence[str], check_one: Callable[[str], Awaitable[Report]], at_once: int = 4) -> None:
        self._groups = [names[start : start + at_once] for start in range(0, len(names), at_once)]
        self._check = check_one
        self._done: dict[str, Report | Exception] = {}

    async def of(self, name: str) -> Report:
        if name not in self._done:
            (group,) = (group for group in self._groups if name in group)
            async with anyio.create_task_group() as tasks:
                for each in group:
                    tasks.start_soon(self._add, each)
        if isinstance(done := self._done[name], Exception):
            raise done
        return done

    async def _add(self, name: str) -> None:
        try:
            self._done[name] = await self._check(name)
        except Exception as error:
            self._done[name] = error


@pytest.fixture(scope="module")
def examples(browser: Browser) -> Reports:
    return Reports(EXAMPLES, lambda name: check(server_of(name), browser=browser))


@pytest.mark.parametrize("name", EXAMPLES)
async def test_examples_have_no_findings(name: str, examples: Reports) -> None:
    report = await examples.of(name)
    assert serious(report) == []
    if name in OURS:
        assert [finding.key for finding in report.findings] == []
    played = [view["scenes"] for server in report.servers for view in server.views.values()]
    assert played
    assert all(scenes == ["plain", "bare", "odd", "partial", "error", "ours"] for scenes in played)


# Servers by other authors

MUSTS = {
    # A test tool for hosts, which requests display modes that it does not declare.
    "debug": {"DSP-01", "DSP-02"},
}


NAMES = ("basic-vanillajs", "basic-react", "debug", "budget-allocator", "threejs")


@pytest.fixture(scope="module")
def published(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Reports:
    """Reports of published servers.

    A check connects many times, and over stdio that is a process each, so only the first server is checked like that.
    """

    async def check_one(name: str) -> Report:
        server = Published(f"@modelcontextprotocol/server-{name}", tmp_path_factory.mktemp(name))
        if name == NAMES[0]:
            return await check(parse_target(server.command()), browser=browser)
        server.start()
        try:
            return await check(await anyio.to_thread.run_sync(server.url), browser=browser)
        finally:
            server.stop()

    return Reports(NAMES, check_one, at_once=len(NAMES))


@pytest.mark.process
@pytest.mark.parametrize("name", NAMES)
async def test_published_servers_break_only_the_known_musts(name: str, published: Reports) -> None:
    report = await published.of(name)
    assert {each.rule.id for each in report.findings if each.breaks_a_must} == MUSTS.get(name, set())
    assert "NEG-03" in ids(report)  # they show Views to every client
    assert not {"QUA-02", "QUA-10", "QUA-12", "QUA-13", "QUA-15", "QUA-16"} & ids(report)
    assert [view["scenes"] for view in report.servers[0].views.values()] == [
        ["plain", "bare", "odd", "partial", "error", "ours"]
    ]


async def test_a_fastmcp_server_breaks_no_must(browser: Browser) -> None:
    server: FastMCP[Any] = FastMCP("greeter")

    @server.tool(app=AppConfig(resource_uri="ui://greeter/view"))
    def greet(name: str = "world") -> str:
        return f"Hello, {name}."

    @server.resource("ui://greeter/view", app=AppConfig(prefers_border=True))
    def view() -> str:
        return raw('on["tool-result"] = ({ content }) => (out.textContent = content[0].text); await start();')

    report = await check(server, browser=browser)
    assert report.conforms, report
    assert ids(report) <= {"NEG-03", "ADV-01", "ADV-06", "QUA-18"}
    assert report.servers[0].called == ("greet",)


async def test_an_sdk_server_breaks_no_must(browser: Browser) -> None:
    apps = SdkApps()

    @apps.tool(resource_uri="ui://greeter/view")
    def greet() -> str:
        return "Hello."

    apps.add_html_resource("ui://greeter/view", raw("await start();"), prefers_border=False)
    report = await check(MCPServer("greeter", extensions=[apps]), browser=browser)
    assert report.conforms, report
    assert ids(report) <= {"NEG-03", "ADV-01", "ADV-06", "QUA-18"}


# Faulty Views in a browser

USUAL = {"QUA-18"}  # allowed, and these Views do not bother


def setup_of(html: str, uri: str = "ui://wrong/view") -> SceneSetup:
    tool = {"name": "show", "inputSchema": {"type": "object"}}
    result = {"content": [{"type": "text", "text": "Noon."}], "structuredContent": {"a": 1}}

    async def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
        return {"error": {"code": -32601, "message": "Method not found"}}

    return SceneSetup(Document(uri, html, {}, [tool]), tool, {"zone": "UTC"}, result, answer)


BY_SCENE = [name for _, name in sorted((scene, name) for name, (scene, _, _) in WRONG.items())]


class Played:
    """Observations of the faulty Views. All Views of a scene are played together, when the first one is needed."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._seen: dict[str, dict[str, ViewObservation]] = {}

    async def seen(self, name: str) -> ViewObservation:
        scene = WRONG[name][0]
        if scene not in self._seen:
            names = [each for each in WRONG if WRONG[each][0] == scene]
            parts = [setup_of(WRONG[each][1], f"ui://wrong/{each.replace(' ', '-')}") for each in names]
            views = await play(self._browser, parts, lambda words: None, [scene])
            self._seen[scene] = dict(zip(names, views, strict=True))
        return self._seen[scene][name]


@pytest.fixture(scope="module")
def played(browser: Browser) -> Played:
    return Played(browser)


@pytest.mark.parametrize("name", BY_SCENE)
async def test_each_faulty_view_breaks_the_expected_rules(name: str, played: Played) -> None:
    expected = WRONG[name][2]
    found = {
        finding.rule.id: finding for finding in apply_rules(ServerObservation("wrong", [], [await played.seen(name)]))
    }
    assert expected <= found.keys()
    assert {id for id, finding in found.items() if finding.breaks_a_must} <= expected
    if not expected:
        assert found.keys() <= USUAL


TICKS = """
await start();
setTimeout(() => { throw new Error(`tick ${Math.round(performance.now())}`); }, 700);
setInterval(async () => nothing(), 330);
const frame = () => (performance.now() > 600 ? missing() : requestAnimationFrame(frame));
frame();
"""


async def test_a_late_error_has_a_stable_key(browser: Browser) -> None:
    keys = []
    for _ in range(2):
        views = await play(browser, [setup_of(raw(TICKS))], lambda words: None, ["plain", "partial", "error"])
        found = [finding for finding in apply_rules(ServerObservation("wrong", [], views)) if finding.problem.thrown]
        assert {finding.rule.id for finding in found} == {"QUA-02"}
        keys.append([finding.key for finding in found])
    assert keys[0] == keys[1]
    assert [key.partition(": ")[2] for key in keys[0]] == [
        "Error: tick #",
        "ReferenceError: missing is not defined",
        "ReferenceError: nothing is not defined",
    ]


SLOWLY = """
await start();
const sleep = (delay) => new Promise((done) => setTimeout(done, delay));
setTimeout(() => { undefinedFunction(); }, 3100);
sleep(3100).then(() => { otherFunction(); });
(async () => { for (let i = 0; i < 4; i++) await sleep(800); lastFunction(); })();
setTimeout(() => { null.x }, 2900);
sleep(2900).then(() => { early(); });
await new Promise((done) => addEventListener("message", ({ data }) => data.method?.endsWith("tool-result") && done()));
const until = performance.now() + 3500;
while (performance.now() < until);
"""


@pytest.mark.parametrize("scene", ["plain", "odd", "ours"])
async def test_timer_errors_count_by_their_due_time(scene: str, browser: Browser) -> None:
    (view,) = await play(browser, [setup_of(raw(SLOWLY))], lambda words: None, [scene])
    counted = {text for _, text in view.scenes[scene].errors}
    early = {"TypeError: Cannot read properties of null (reading 'x')", "ReferenceError: early is not defined"}
    assert counted == early if scene == "plain" else counted <= early


async def test_progress_counts_skipped_scenes(browser: Browser) -> None:
    progress: list[Progress] = []
    good = setup_of(raw("await start();"), "ui://good/view")
    broken = setup_of(raw("location.reload();"), "ui://broken/view")
    await play(browser, [good, broken], progress.append, ["plain", "error"])
    lines = [re.fullmatch(r"(\d) of 4 scenes: (\w+ of ui://\w+/view)", line.text) for line in progress]
    done = [0, *(int(line[1]) for line in lines if line)]
    added = {line[2]: after - before for line, (before, after) in zip(lines, pairwise(done), strict=True) if line}
    assert added == {"plain of ui://broken/view": 2, "plain of ui://good/view": 1, "error of ui://good/view": 1}
    assert done[-1] == 4


async def test_a_slow_plain_scene_is_repeated_alone(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fanlight.rules.behaviour.SLOW", 0)
    views: list[str] = []
    shown = scenes._scene

    async def counted(pages: PagePool, setup: SceneSetup, name: str) -> Any:
        views.append(name)
        return await shown(pages, setup, name)

    monkeypatch.setattr(scenes, "_scene", counted)
    await play(browser, [setup_of(raw("await start();"))], lambda words: None, ["plain", "error"])
    assert views == ["plain", "error", "plain"]


# Pages that are reused

KEEPS = """
const kept = () => [localStorage.mark, sessionStorage.mark, document.cookie, window.name].filter(Boolean).join();
if (kept()) throw new Error(`found ${kept()}`);
localStorage.mark = sessionStorage.mark = window.name = "left";
document.cookie = "left=1; domain=fanlight-check.test";
const channel = new BroadcastChannel("x");
channel.onmessage = ({ data }) => { throw new Error(`received ${data}`); };
channel.postMessage("a scene");
import("./nothing.js").catch((error) => { setTimeout(() => { throw error; }); });
await start();
"""


async def test_scenes_on_a_reused_page_share_no_state(browser: Browser) -> None:
    pages = PagePool(browser)
    html = raw(KEEPS)
    played = [await scenes._scene(pages, setup_of(html), name) for name in ("partial", "error", "partial")]
    assert len(pages._free) == 1
    await pages.close()
    failed_import = (
        "TypeError: Failed to fetch dynamically imported module: https://view.fanlight-check.test/nothing.js"
    )
    assert [{text for _, text in scene.errors} for scene in played] == [{failed_import}] * 3
    assert [scene.unfinished for scene in played] == [None] * 3


async def test_a_page_that_hangs_after_its_scene_is_not_reused(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripted_host, "_RELOAD_TIMEOUT", 500)
    pages = PagePool(browser)
    hangs = raw("addEventListener('pagehide', () => { for (;;); }); await start();")
    await scenes._scene(pages, setup_of(hangs), "error")
    assert len(pages._free) == 1
    after = await scenes._scene(pages, setup_of(raw("await start();")), "error")
    assert after.unfinished is None
    assert after.measurements["error"]["visible"] is not None
    await pages.close()


async def test_a_view_in_an_infinite_loop_is_reported_as_hanging(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripted_host, "_HANGS", 3.0)
    hangs = raw("await start(); setTimeout(() => { for (;;); }, 50);")
    (view,) = await play(browser, [setup_of(hangs)], lambda words: None, ["plain", "error"])
    found = {finding.rule.id: finding for finding in apply_rules(ServerObservation("wrong", [], [view]))}
    assert found.keys() == {"QUA-21"}
    assert found["QUA-21"].problem.message.startswith("hangs: ")


async def test_a_page_that_fails_to_open_is_closed_and_reported(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripted_host, "HOST_ORIGIN", "nonsense:")
    before = len(browser.contexts)
    played = await scenes._scene(PagePool(browser), setup_of(raw("await start();")), "error")
    assert str(played.unfinished).startswith("the browser failed: ")
    assert len(browser.contexts) == before


async def test_the_page_of_an_interrupted_scene_is_closed(browser: Browser) -> None:
    pages = PagePool(browser)
    before = len(browser.contexts)
    wrong = raw('on["tool-result"] = () => { for (;;); }; await start();')
    with anyio.move_on_after(2):
        await scenes._scene(pages, setup_of(wrong), "error")
    assert pages._free == []
    assert len(browser.contexts) == before


# Targets


def silent_server() -> MCPServer[Any]:
    """Return a server whose tool has no content for the model."""
    apps = SdkApps()

    @apps.tool(resource_uri="ui://silent/view")
    def show() -> CallToolResult:
        return CallToolResult(content=[])

    apps.add_html_resource("ui://silent/view", "<!doctype html><title>x</title><p>x")
    return MCPServer("silent", extensions=[apps])


async def test_a_server_object_is_checked_in_process() -> None:
    report = await check(silent_server(), browser=False)
    assert not report.conforms
    assert {"NEG-03", "NEG-04", "NEG-05"} <= ids(report)
    (finding,) = report.named("NEG-05")
    assert finding.problem.where == "tool show"
    assert report.servers[0].versions == ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
    assert "NEG-05" in str(report)


async def test_a_server_at_a_url_is_checked() -> None:
    with serving(silent_server().streamable_http_app()) as address:
        report = await check(f"{address}/mcp", browser=False)
    assert len(report.servers[0].versions) == 5
    assert report.named("NEG-05")


async def test_only_safe_tools_are_called() -> None:
    server: MCPServer[Any] = MCPServer("shop")
    apps = Apps(server)
    view = View.html("<!doctype html><title>x</title><p>x", uri="ui://shop/view")
    calls: list[str] = []

    def add(name: str, parameter: Any, **options: Any) -> None:
        def called(value: Any) -> str:
            calls.append(f"{name} {value}")
            return "Done."

        called.__annotations__["value"] = parameter
        apps.tool(name, view=view, **options)(called)

    add("plain", int)
    add("destroys", int, annotations={"destructiveHint": True})
    add("for-views", int, visibility=["app"])
    server.tool("no-view")(lambda: calls.append("no-view"))
    progress: list[Progress] = []
    await check(server, browser=False, on_progress=progress.append)
    assert calls == ["plain 1"] * 2
    assert any(
        "does not call destroys: it is annotated as destructive" in line.text and line.is_lasting for line in progress
    )
    calls.clear()
    await check(server, browser=False, call=False)
    assert calls == []
    await check(server, browser=False, call=False, arguments={"destroys": {"value": 7}})
    assert calls == ["destroys 7"] * 2


async def test_only_skip_and_baseline_limit_the_findings() -> None:
    server = silent_server()
    report = await check(server, browser=False, only=["NEG", "mcp-apps-res-08"])
    assert ids(report) == {"NEG-03", "NEG-04", "NEG-05", "RES-08"}
    assert not report.conforms
    report = await check(server, browser=False, only=["NEG"], skip={"NEG-05": "it only shows"})
    assert report.conforms
    assert [each.skipped for each in report.findings if each.rule.id == "NEG-05"] == ["it only shows"]
    known = [finding.key for finding in report.findings]
    assert (await check(server, browser=False, only=["NEG"], baseline=known)).open == ()
    with pytest.raises(UsageError, match="no rule 'NEG-99'"):
        await check(server, browser=False, only=["NEG-99"])


@pytest.mark.process
async def test_a_server_that_cannot_start_is_reported_with_its_output(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text("raise SystemExit('out of cheese')", encoding="utf-8")
    with pytest.raises(ConnectError, match="out of cheese"):
        await check(script, browser=False)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"neither a server.py nor saved Views"):
        await check(tmp_path / "empty", browser=False)


@pytest.mark.process
async def test_a_server_command_is_checked_with_the_versions_it_supports(tmp_path: Path) -> None:
    from support.connected import RAW_SERVER

    script = tmp_path / "raw.py"
    script.write_text(RAW_SERVER, encoding="utf-8")
    report = await check(None, command=[sys.executable, str(script)], browser=False)
    assert report.servers[0].versions == ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
    assert report.findings == ()
