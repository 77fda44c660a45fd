"""Views of servers written here, on the stage."""

import sys
from typing import Any

import pytest
from mcp.server import MCPServer
from playwright.async_api import Browser

from fanlight import Apps, View
from fanlight.host import Policy
from fanlight.testing.browser import BrowserMissingError, find_browser, launch_browser
from fanlight.testing.live_view import StageError, UnsettledError
from fanlight.testing.stage import Stage, open_view

pytestmark = pytest.mark.anyio

HEAD = """<!doctype html><html><head><title>x</title><meta name="color-scheme" content="light dark"></head><body>
<p id="p">…</p><script type="module">
import { App } from "@modelcontextprotocol/ext-apps";
const app = new App({ name: "x", version: "1" });
const p = document.querySelector("#p");
"""
TAIL = "</script></body></html>"
SHOWS = "app.ontoolresult = ({ content }) => (p.textContent = content[0].text);\nawait app.connect();\n"


def server_of(script: str) -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer("x")
    apps = Apps(server)
    view = View.html(HEAD + script + TAIL, uri="ui://x/view")

    @apps.tool(view=view)
    def show(word: str = "hello") -> str:
        "Show a word."
        return word

    @apps.tool(view=view, visibility=["app"])
    def again() -> str:
        "Another word."
        return "again"

    @server.tool()
    def plain() -> str:
        "No View."
        return "text"

    return server


async def text(view: Any) -> str:
    shown: str = await view.frame.evaluate("document.querySelector('#p').textContent")
    return shown


async def test_a_view_is_shown_with_its_result_and_messages_are_recorded(browser: Browser) -> None:
    async with open_view(server_of(SHOWS), "show", {"word": "tea"}, browser=browser) as view:
        assert await text(view) == "tea"
        methods = [(each.by, each.method) for each in view.messages][:5]
        assert methods == [
            ("view", "ui/initialize"),
            ("host", None),
            ("view", "ui/notifications/initialized"),
            ("host", "ui/notifications/tool-input"),
            ("host", "ui/notifications/tool-result"),
        ]
        assert view.received("ui/notifications/tool-input") == [{"arguments": {"word": "tea"}}]
        assert view.log().count("\n") == len(view.messages)
        assert (view.console, view.errors, view.violations, view.model_context) == ([], [], [], None)
        assert (await view.screenshot()).startswith(b"\x89PNG")


async def test_settled_waits_for_the_tool_call_of_a_click(browser: Browser) -> None:
    script = SHOWS + (
        "p.onclick = async () => {\n"
        "  const { content } = await app.callServerTool({ name: 'again', arguments: {} });\n"
        "  await app.updateModelContext({ content });\n"
        "  await app.sendMessage({ role: 'user', content });\n"
        "  setTimeout(() => (p.textContent = content[0].text), 200);\n"
        "};\n"
    )
    async with open_view(server_of(script), "show", browser=browser) as view:
        await view.frame.click("#p")
        await view.wait_until_settled()
        assert await text(view) == "again"
        assert [params["name"] for params in view.sent("tools/call")] == ["again"]
        content = [{"type": "text", "text": "again"}]
        assert view.model_context == {"content": content}
        assert view.conversation == [{"role": "user", "content": content}]


async def test_the_policy_is_enforced(browser: Browser) -> None:
    script = (
        SHOWS + "await app.callServerTool({ name: 'again', arguments: {} }).catch((e) => (p.textContent = e.message));"
    )
    async with open_view(server_of(script), "show", browser=browser, policy=Policy({"tools": "deny"})) as view:
        assert "may not be called" in await text(view)


async def test_theme_size_locale_zone_mode_and_context_reach_the_view(browser: Browser) -> None:
    options: dict[str, Any] = {"theme": "dark", "size": (500, 400), "locale": "de-DE", "time_zone": "Asia/Tokyo"}
    own = {"styles": {"variables": {"--color-text-primary": "red"}}, "userAgent": "mine"}
    async with Stage({"x": server_of(SHOWS)}, browser=browser) as stage:
        async with stage.open("x", "show", mode="fullscreen", context=own, **options) as view:
            (answer,) = [each.message["result"] for each in view.messages if "result" in each.message]
            context = answer["hostContext"]
            assert (context["theme"], context["locale"], context["timeZone"]) == ("dark", "de-DE", "Asia/Tokyo")
            assert (context["displayMode"], context["userAgent"]) == ("fullscreen", "mine")
            assert context["styles"] == own["styles"]
            assert context["containerDimensions"]["width"] == 500
            assert await view.frame.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
            assert await view.frame.evaluate("innerHeight") > 300
        async with stage.open("x", "show") as view:
            (answer,) = [each.message["result"] for each in view.messages if "result" in each.message]
            assert answer["hostContext"]["displayMode"] == "inline"
            assert "styles" not in answer["hostContext"]


async def test_errors_violations_and_console_lines_have_their_source_lines(browser: Browser) -> None:
    script = SHOWS + (
        "console.error('one');\n"
        "fetch('https://elsewhere.example/').catch(() => {});\n"
        "setTimeout(() => { throw new Error('two'); });\n"
    )
    async with open_view(server_of(script), "show", browser=browser) as view:
        line = next(line for line in view.console if line.text == "one")
        assert (line.kind, line.url) == ("error", "ui://x/view")
        source = (HEAD + script).split("\n")
        assert line.line >= len(source) - 4
        (violation,) = view.violations
        assert (violation.directive, violation.url) == ("connect-src", "ui://x/view")
        assert violation.blocked.startswith("https://elsewhere.example")
        assert violation.line == line.line + 1
        (error,) = view.errors
        assert (error.text, error.url, error.line) == ("Error: two", "ui://x/view", line.line + 2)


@pytest.mark.parametrize(
    ("tool", "script", "step", "words"),
    [
        ("none", SHOWS, "tool", "has no tool 'none'"),
        ("plain", SHOWS, "tool", "has no View"),
        (
            "show",
            "throw new Error('broken')",
            "initialize",
            "A script of the View died before ui/initialize. Error: broken (ui://x/view:",
        ),
        ("show", "nothing.at.all()", "initialize", "ReferenceError: nothing is not defined (ui://x/view:"),
        ("show", "let x = ;", "initialize", "SyntaxError: Unexpected token ';' (ui://x/view:"),
        ("show", "await new Promise(() => {})", "initialize", "did not send ui/initialize within 6 seconds."),
        (
            "show",
            "parent.postMessage({jsonrpc: '2.0', id: 1, method: 'ui/initialize', params: {}}, '*')",
            "initialize",
            "did not send ui/notifications/initialized",
        ),
    ],
)
async def test_a_view_that_does_not_appear_raises_with_the_failed_step(
    tool: str, script: str, step: str, words: str, browser: Browser
) -> None:
    with pytest.raises(StageError) as raised:
        async with open_view(server_of(script), tool, browser=browser, within=6):
            pass
    assert raised.value.step == step
    assert words in str(raised.value)


async def test_a_server_that_does_not_start_raises_with_the_step_connect(browser: Browser) -> None:
    with pytest.raises(StageError) as raised:
        async with open_view("there-is-no-such-program --at-all", "show", browser=browser):
            pass
    assert raised.value.step == "connect"


async def test_a_view_that_never_settles_is_shown_and_reported(browser: Browser) -> None:
    script = SHOWS + "setInterval(() => (p.textContent = Math.random()), 5);"
    async with open_view(server_of(script), "show", browser=browser, within=2) as view:
        with pytest.raises(UnsettledError, match="keeps changing"):
            await view.wait_until_settled(1)


async def test_an_endless_animation_does_not_prevent_settling(browser: Browser) -> None:
    script = SHOWS + "const draw = () => requestAnimationFrame(draw);\ndraw();"
    async with open_view(server_of(script), "show", browser=browser) as view:
        await view.wait_until_settled()


MOVES = """
const canvas = document.body.appendChild(document.createElement("canvas"));
const paper = canvas.getContext("2d");
let turns = 0;
const draw = () => {
  turns += 1;
  paper.fillStyle = `rgb(${turns % 256} ${Math.floor(performance.now()) % 256} ${Math.floor(Math.random() * 256)})`;
  paper.fillRect((turns * 7) % 300, Math.random() * 100, 20, 20);
  requestAnimationFrame(draw);
};
app.ontoolresult = ({ content }) => {
  p.textContent = `${new Date().toISOString()} ${Date.now()} ${crypto.randomUUID()} ${content[0].text}`;
  const later = document.body.appendChild(document.createElement("p"));
  setTimeout(() => (later.textContent = "later"), 300);
  draw();
};
await app.connect();
"""


async def test_frozen_pictures_are_identical(browser: Browser) -> None:
    async with Stage({"x": server_of(MOVES)}, browser=browser) as stage:
        pictures, words = [], []
        for freeze in (True, True, False):
            async with stage.open("x", "show", freeze=freeze) as view:
                assert await view.frame.locator("p").nth(1).text_content() == "later"
                words.append(await text(view))
                pictures.append(await view.screenshot())
    assert words[0].startswith("2026-01-01T12:00:00.")
    assert words[0] == words[1] != words[2]
    assert pictures[0] == pictures[1] != pictures[2]


async def test_a_call_that_has_not_run_is_run_by_the_test(browser: Browser) -> None:
    async with (
        Stage({"x": server_of(SHOWS)}, browser=browser) as stage,
        stage.open("x", "show", run=False) as view,
    ):
        assert await text(view) == "…"
        await view.call.run({"word": "late"})
        await view.wait_until_settled()
        assert await text(view) == "late"


async def test_a_result_can_be_supplied_instead_of_a_call(browser: Browser) -> None:
    result = {"content": [{"type": "text", "text": "made up"}]}
    async with (
        Stage({"x": server_of(SHOWS)}, browser=browser) as stage,
        stage.open("x", "show", {"word": "asked"}, result=result) as view,
    ):
        assert await text(view) == "made up"
        assert view.received("ui/notifications/tool-input") == [{"arguments": {"word": "asked"}}]


async def test_exceptions_of_the_test_are_not_wrapped(browser: Browser) -> None:
    with pytest.raises(ZeroDivisionError):
        async with open_view(server_of(SHOWS), "show", browser=browser):
            raise ZeroDivisionError


async def test_messages_of_several_open_views_are_kept_apart(browser: Browser) -> None:
    script = (
        "app.ontoolresult = ({ content }) => {\n  p.textContent = content[0].text;\n"
        "  app.updateModelContext({ content });\n};\nawait app.connect();"
    )
    async with (
        Stage({"x": server_of(script)}, browser=browser) as stage,
        stage.open("x", "show", {"word": "a"}) as one,
        stage.open("x", "show", {"word": "b"}) as other,
    ):
        assert (await text(one), await text(other)) == ("a", "b")
        for view, word in ((one, "a"), (other, "b")):
            assert view.received("ui/notifications/tool-input") == [{"arguments": {"word": word}}]
            assert view.model_context == {"content": [{"type": "text", "text": word}]}


async def test_missing_playwright_raises_with_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "playwright.async_api", None)
    with pytest.raises(BrowserMissingError, match=r"^Playwright is missing: pip install 'fanlight\[browser\]'$"):
        async with launch_browser():
            pass


@pytest.mark.process
async def test_a_missing_browser_raises_with_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FANLIGHT_BROWSER", "no-such-browser")
    with pytest.raises(
        BrowserMissingError, match="FANLIGHT_BROWSER is 'no-such-browser', and there is no such program"
    ):
        async with launch_browser():
            pass
    monkeypatch.delenv("FANLIGHT_BROWSER")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", "/nowhere")
    assert find_browser() is None
    with pytest.raises(BrowserMissingError, match=r"^No browser was found: install one .*playwright install"):
        async with launch_browser():
            pass
