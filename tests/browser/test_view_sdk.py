"""view.js in a real browser: under a scripted host, and under the published AppBridge of two versions."""

from typing import Any

import pytest
from mcp.server import MCPServer
from playwright.async_api import Browser, expect

from fanlight import Apps, Csp
from fanlight.server.bundle import bundle_text
from support.stage import on_stage
from support.wire import UI, in_memory

pytestmark = pytest.mark.anyio

BRIDGES = ["ext-apps-1", "ext-apps-2"]


def view(script: str, body: str = "<p id=out></p>", style: str = "", connect: str = "await app.connect();") -> str:
    document = f"""<!doctype html>
<html><head><title>x</title><style>body{{margin:0}}{style}</style></head><body>{body}
<script type="module">
import * as sdk from "@modelcontextprotocol/ext-apps";
const out = document.getElementById("out");
const app = new sdk.App({{name: "Test", version: "1"}}, {{availableDisplayModes: ["inline", "fullscreen"]}});
{script}
{connect}
</script></body></html>"""
    return bundle_text(document, Csp()).html


def server() -> MCPServer[Any]:
    made: MCPServer[Any] = MCPServer("sum")
    apps = Apps(made)

    @apps.tool()
    def add(a: int, b: int) -> dict[str, int]:
        return {"sum": a + b}

    return made


@pytest.mark.parametrize("bridge", [None, *BRIDGES])
async def test_a_view_gets_its_result_calls_a_tool_and_is_torn_down(bridge: str | None, browser: Browser) -> None:
    html = view(
        """
        app.ontoolinput = ({arguments: a}) => (out.textContent += `input ${a.a} `);
        app.ontoolresult = ({structuredContent: s}) => (out.textContent += `result ${s.sum} `);
        app.onteardown = () => (out.textContent += "down ", {});
        window.go = async () => {
          const {structuredContent} = await app.callServerTool({name: "add", arguments: {a: 20, b: 22}});
          out.textContent += `call ${structuredContent.sum} `;
        };
        """,
        '<p id=out></p><button onclick="go()">go</button>',
    )
    async with in_memory(server(), "2025-11-25", UI) as client, on_stage(browser, html, client, bridge=bridge) as stage:
        await stage.run("add", {"a": 1, "b": 2})
        await expect(stage.view.locator("#out")).to_have_text("input 1 result 3")
        await stage.view.get_by_role("button").click()
        await expect(stage.view.locator("#out")).to_have_text("input 1 result 3 call 42")
        if bridge is not None:
            await stage.page.evaluate("teardown()")
            await expect(stage.view.locator("#out")).to_have_text("input 1 result 3 call 42 down")
        assert stage.problems == []


@pytest.mark.parametrize("bridge", BRIDGES)
async def test_every_request_of_a_view_is_answered_by_the_published_bridge(bridge: str, browser: Browser) -> None:
    html = view(
        """
        window.go = async () => {
          const text = [{type: "text", text: "hi"}];
          await app.sendMessage({role: "user", content: text});
          await app.updateModelContext({content: text});
          await app.openLink({url: "https://example.com/"});
          const {mode} = await app.requestDisplayMode({mode: "fullscreen"});
          out.textContent = `done ${mode} ${app.getHostVersion().name} ${app.getHostContext().locale}`;
        };
        """,
        connect="await app.connect(); await go();",
    )
    async with on_stage(browser, html, bridge=bridge) as stage:
        await expect(stage.view.locator("#out")).to_have_text("done fullscreen AppBridge en-GB")
        for method in ("ui/message", "ui/update-model-context", "ui/open-link", "ui/request-display-mode"):
            await stage.sent(method, 1)
        assert stage.problems == []


async def test_the_reported_height_grows_and_shrinks_with_the_content(browser: Browser) -> None:
    html = view("", '<div id=box style="height:300px"></div>')
    async with on_stage(browser, html) as stage:
        frame = stage.page.locator("#view")
        await expect(frame).to_have_css("height", "300px")
        box = stage.view.locator("#box")
        await box.evaluate("box => (box.style.height = '700px')")
        await expect(frame).to_have_css("height", "700px")
        await box.evaluate("box => (box.style.height = '120px')")
        await expect(frame).to_have_css("height", "120px")
        assert stage.problems == []


@pytest.mark.parametrize(
    ("style", "body"),
    [
        ("html,body{height:100%}", "<p>x</p>"),
        ("body{min-height:100vh}", "<p>x</p>"),
        ("body{height:100vh;padding:10px}", "<p>x</p>"),
        ("body{height:calc(100vh + 40px)}", "<p>x</p>"),
        ("", '<div style="height:110vh">x</div>'),
        ("", '<div style="width:120vw;height:50px">x</div>'),
        ("p{font-size:10.33px;margin:0.7px}", "<p>x</p>"),
    ],
)
async def test_a_resize_does_not_cause_another_one(style: str, body: str, browser: Browser) -> None:
    async with on_stage(browser, view("", body, style)) as stage:
        # The host applies each height that is reported. A loop reports in every frame: about 60 times, then 60 more.
        # How many frames an echo takes to be recognised depends on the browser: Chromium needs 3, its headless shell 4.
        frames = "new Promise(done => { let n = 60; const f = () => (n-- ? requestAnimationFrame(f) : done()); f(); })"
        count = "messages.filter(m => m.method === 'ui/notifications/size-changed').length"
        await stage.page.evaluate(frames)
        reports = await stage.page.evaluate(count)
        assert reports <= 6
        await stage.page.evaluate(frames)
        assert await stage.page.evaluate(count) == reports
        assert await stage.page.locator("#view").evaluate("frame => frame.clientHeight") < 1500
        assert stage.problems == []


async def test_auto_resize_is_on_unless_turned_off(browser: Browser) -> None:
    count = "messages.filter(m => m.method === 'ui/notifications/size-changed').length"
    for options, expected in (("{strict: true}", True), ("{autoResize: false}", False)):
        html = view(
            "",
            connect=f"const other = new sdk.App({{name: 'x', version: '1'}}, {{}}, {options}); await other.connect();",
        )
        async with on_stage(browser, html) as stage:
            await stage.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
            await stage.view.locator("body").evaluate(
                "body => new Promise(d => requestAnimationFrame(() => setTimeout(d)))"
            )
            assert (await stage.page.evaluate(count) > 0) is expected


async def test_host_styles_and_fonts_are_applied(browser: Browser) -> None:
    html = view(
        """
        const adopt = ({theme, styles}) => {
          if (theme) sdk.applyDocumentTheme(theme);
          if (styles?.variables) sdk.applyHostStyleVariables(styles.variables);
          if (styles?.css?.fonts) sdk.applyHostFonts(styles.css.fonts);
          out.textContent = sdk.getDocumentTheme();
        };
        app.onhostcontextchanged = adopt;
        """,
        style="body{color:var(--color-text-primary,red)}",
        connect="await app.connect(); adopt(app.getHostContext());",
    )
    styles = {"variables": {"--color-text-primary": "rgb(1, 2, 3)"}}
    async with on_stage(browser, html, context={"theme": "dark", "styles": styles}) as stage:
        await expect(stage.view.locator("#out")).to_have_text("dark")
        await expect(stage.view.locator("html")).to_have_css("color-scheme", "dark")
        await expect(stage.view.locator("body")).to_have_css("color", "rgb(1, 2, 3)")
        for colour in ("rgb(4, 5, 6)", "rgb(7, 8, 9)"):
            fonts = f"body{{background-color:{colour}}}"
            changed = {"theme": "light", "styles": {"css": {"fonts": fonts}}}
            await stage.notify("ui/notifications/host-context-changed", changed)
            await expect(stage.view.locator("body")).to_have_css("background-color", colour)
        await expect(stage.view.locator("#out")).to_have_text("light")
        await expect(stage.view.locator("body")).to_have_css("color", "rgb(1, 2, 3)")
        assert stage.problems == []


THEMED = """<!doctype html><html><head><title>x</title></head><body><p id=out>text</p>
<script type="module">
import { App, getDocumentTheme } from "fanlight";
const app = new App({ name: "Test", version: "1" });
const out = document.getElementById("out");
window.app = app;
app.onhostcontextchanged = ({ theme }) => (out.textContent = `${theme}, ${getComputedStyle(out).color}`);
await app.connect();
</script></body></html>"""


async def test_a_view_that_imports_from_fanlight_follows_the_host_without_code(browser: Browser) -> None:
    styles = {
        "variables": {"--color-text-primary": "rgb(1, 2, 3)", "--font-sans": "Host, serif"},
        "css": {"fonts": "p{letter-spacing:3px}"},
    }
    context = {"theme": "dark", "styles": styles, "safeAreaInsets": {"top": 7}}
    async with on_stage(browser, bundle_text(THEMED, Csp()).html, context=context) as stage:
        root, out = stage.view.locator("html"), stage.view.locator("#out")
        await expect(root).to_have_css("color-scheme", "dark")
        await expect(out).to_have_css("color", "rgb(1, 2, 3)")
        await expect(out).to_have_css("font-family", "Host, serif")
        await expect(out).to_have_css("letter-spacing", "3px")
        assert await root.evaluate("root => root.style.getPropertyValue('--safe-top')") == "7px"
        changed = {"theme": "light", "styles": {"variables": {"--color-text-primary": "rgb(4, 5, 6)"}}}
        await stage.notify("ui/notifications/host-context-changed", changed)
        # The View's own handler runs after the look has changed.
        await expect(out).to_have_text("light, rgb(4, 5, 6)")
        await expect(root).to_have_css("color-scheme", "light")
        assert len(await stage.sent("ui/notifications/size-changed", 1)) == 1
        assert stage.problems == []


async def test_styles_of_the_view_win_over_those_of_the_host(browser: Browser) -> None:
    own = THEMED.replace("<title>", "<style>*{font-family:Own}html{color:rgb(9, 9, 9)}</style><title>")
    styles = {"variables": {"--color-text-primary": "rgb(1, 2, 3)", "--font-sans": "Host"}}
    async with on_stage(browser, bundle_text(own, Csp()).html, context={"styles": styles}) as stage:
        out = stage.view.locator("#out")
        await expect(stage.view.locator("html")).to_have_css("--font-sans", "Host")
        await expect(out).to_have_css("color", "rgb(9, 9, 9)")
        await expect(out).to_have_css("font-family", "Own")


async def test_a_view_that_imports_from_ext_apps_gets_no_look_by_itself(browser: Browser) -> None:
    plain = THEMED.replace('"fanlight"', '"@modelcontextprotocol/ext-apps"')
    styles = {"variables": {"--color-text-primary": "rgb(1, 2, 3)"}}
    async with on_stage(browser, bundle_text(plain, Csp()).html, context={"theme": "dark", "styles": styles}) as stage:
        await stage.notify("ui/notifications/host-context-changed", {"theme": "dark"})
        await expect(stage.view.locator("#out")).to_have_text("dark, rgb(0, 0, 0)")
        root = stage.view.locator("html")
        assert await root.get_attribute("data-theme") is None
        assert await root.evaluate("root => root.style.getPropertyValue('--color-text-primary')") == ""


async def test_messages_from_other_windows_are_ignored(browser: Browser) -> None:
    html = view(
        """
        app.ontoolresult = ({structuredContent: s}) => (out.textContent += s.from);
        window.forge = () => {
          const result = {content: [], structuredContent: {from: "forged"}};
          window.postMessage({jsonrpc: "2.0", method: "ui/notifications/tool-result", params: result}, "*");
        };
        """
    )
    async with on_stage(browser, html) as stage:
        await stage.view.locator("body").evaluate("() => forge()")
        result = {"content": [], "structuredContent": {"from": "host"}}
        await stage.notify("ui/notifications/tool-result", result)
        await expect(stage.view.locator("#out")).to_have_text("host")
