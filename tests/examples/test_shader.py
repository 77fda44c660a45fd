"""The shader: WebGL under the strict policy, compiler errors for the user and the model, and no needless motion."""

import pytest
from playwright.async_api import Browser, expect

from support.browser import colours, until
from support.examples import EXAMPLES, VIEWS, client_of, showing
from support.stage import Stage, on_stage
from support.wire import NO_UI

pytestmark = pytest.mark.anyio

# Sixteen shades of red from left to right, and no blue; `iTme` is a mistake in the third line.
STRIPES = """void mainImage(out vec4 fragColor, in vec2 fragCoord) {
  vec2 at = fragCoord / iResolution.xy;
  float red = floor(at.x * 16.0) / 16.0;
  fragColor = vec4(red, 0.0, 0.0, 1.0);
}
"""
WRONG = STRIPES.replace("floor(at.x", "floor(iTme * at.x")
# Counts the frames that the View requests.
COUNT = """() => {
  window.requested = 0;
  const request = window.requestAnimationFrame;
  window.requestAnimationFrame = (work) => ((window.requested += 1), request(work));
}"""
NO_WEBGL = """
const get = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
  return kind.startsWith("webgl") ? null : get.call(this, kind, ...rest);
};
"""


async def context_texts(stage: Stage, count: int) -> list[str]:
    return [params["content"][0]["text"] for params in await stage.sent("ui/update-model-context", count)]


async def test_the_default_scene_is_drawn_and_not_blank(browser: Browser) -> None:
    async with showing(browser, "shader", context={"theme": "dark"}) as stage:
        await expect(stage.view.get_by_role("img", name="Drops, an animated picture")).to_be_visible()
        assert len(await colours(stage.page, await stage.view.locator("canvas").screenshot())) > 500
        assert await context_texts(stage, 1) == ['The shader "Drops" compiles, and the user sees it.']


async def test_a_shader_of_the_model_is_drawn_in_its_own_colours(browser: Browser) -> None:
    async with showing(browser, "shader") as stage:
        await stage.run("show_shader", {"title": "Stripes", "code": STRIPES})
        await expect(stage.view.get_by_role("heading", name="Stripes")).to_be_visible()
        await expect(stage.view.get_by_role("img", name="Stripes, an animated picture")).to_be_visible()
        found = await colours(stage.page, await stage.view.locator("canvas").screenshot())
        reds = {name for name, count in found.items() if count > 1000 and name.endswith("0000")}
        assert len(reds) == 16


async def test_an_error_is_shown_with_its_line_and_reaches_the_model(browser: Browser) -> None:
    async with showing(browser, "shader") as stage:
        await expect(stage.view.get_by_role("img", name="Drops")).to_be_visible()
        await stage.run("show_shader", {"title": "Stripes", "code": WRONG})
        await expect(stage.view.get_by_role("heading", name="It does not compile: one error")).to_be_visible()
        await expect(stage.view.locator("#errors")).to_have_text("Line 3'iTme' : undeclared identifier")
        await expect(stage.view.get_by_role("status")).to_have_text("The picture is the last one that compiled.")
        report = (await context_texts(stage, 2))[-1]
        assert report.startswith('The shader "Stripes" does not compile')
        assert "Line 3: 'iTme' : undeclared identifier" in report
        await stage.view.get_by_role("button", name="Line 3").click()
        code = stage.view.get_by_role("textbox", name="Source of the shader")
        await expect(code).to_be_focused()
        selected = "code => code.value.slice(code.selectionStart, code.selectionEnd)"
        assert "iTme" in await code.evaluate(selected)
        await stage.view.get_by_role("button", name="Ask the model to fix it").click()
        (message,) = await stage.sent("ui/message", 1)
        assert "Line 3" in message["content"][0]["text"]
        assert WRONG in message["content"][0]["text"]


async def test_the_user_corrects_the_source_and_the_model_gets_it(browser: Browser) -> None:
    async with showing(browser, "shader") as stage:
        await stage.run("show_shader", {"title": "Stripes", "code": WRONG})
        await expect(stage.view.locator("#errors")).to_contain_text("Line 3")
        await stage.view.get_by_text("Source", exact=True).click()
        code = stage.view.get_by_role("textbox", name="Source of the shader")
        await code.fill(STRIPES)
        await code.press("Control+Enter")
        await expect(stage.view.locator("#problem")).to_be_hidden()
        changed = (await context_texts(stage, 3))[-1]
        assert "The user has changed its code" in changed
        assert STRIPES in changed


async def test_the_picture_moves_when_played_and_stands_still_when_paused(browser: Browser) -> None:
    async with showing(browser, "shader") as stage:
        # A browser in a test has no graphics card, so the View waits for the user.
        await stage.run("show_shader", {"title": "Stripes", "code": STRIPES})
        await expect(stage.view.get_by_role("status")).to_contain_text("draws without a graphics card")
        frame = stage.page.frames[1]
        await frame.evaluate(COUNT)
        await stage.view.get_by_role("button", name="Play").click()
        await until(frame, "requested > 5")
        await stage.page.evaluate("document.getElementById('view').style.marginTop = '5000px'")  # scrolled away
        still = "new Promise(async (done) => { const frames = async (left) => left && new Promise((next) => "
        still += (
            "setTimeout(() => next(frames(left - 1)), 20)); let before; do { before = requested; await frames(5); } "
        )
        still += "while (requested !== before); done(true); })"
        assert await frame.evaluate(still)
        seen = await frame.evaluate("requested")
        await stage.page.evaluate("document.getElementById('view').style.marginTop = '0'")
        await until(frame, f"requested > {seen + 5}")
        await stage.view.get_by_role("button", name="Pause").click()
        assert await frame.evaluate(still)
        assert await stage.ask("ui/resource-teardown", {}) == {"result": {}}


async def test_without_webgl_the_source_is_shown_and_the_model_learns_it(browser: Browser) -> None:
    uri, tool, arguments = VIEWS["shader"]
    async with (
        client_of("shader") as client,
        on_stage(browser, (await client.read(uri))["text"], client, init_script=NO_WEBGL) as stage,
    ):
        await stage.run(tool, arguments)
        await expect(stage.view.get_by_text("This browser has no WebGL 2")).to_be_visible()
        await expect(stage.view.get_by_role("textbox")).to_have_value(
            (EXAMPLES / "shader" / "scene.glsl").read_text(encoding="utf-8")
        )
        assert "no WebGL 2" in (await context_texts(stage, 1))[0]
        assert stage.problems == []


async def test_partial_code_is_shown_while_the_model_writes(browser: Browser) -> None:
    async with (
        client_of("shader") as client,
        on_stage(browser, (await client.read(VIEWS["shader"][0]))["text"], client) as stage,
    ):
        partial = {"title": "Str", "code": "void mainImage(out vec4 c, in vec2 p) {\n  c ="}
        await stage.notify("ui/notifications/tool-input-partial", {"arguments": partial})
        await expect(stage.view.get_by_role("status")).to_have_text("Line 2 is being written…")


async def test_code_without_mainimage_is_an_error_that_says_what_to_write() -> None:
    async with client_of("shader") as client:
        done = await client.call("show_shader", code="void main() {}")
        assert done["isError"]
        assert "Expected void mainImage(out vec4 fragColor, in vec2 fragCoord)" in done["content"][0]["text"]


async def test_a_client_without_views_gets_the_code() -> None:
    async with client_of("shader", NO_UI) as client:
        text = (await client.call("show_shader", title="Stripes", code=STRIPES))["content"][0]["text"]
        assert text.startswith("Stripes: a fragment shader of 5 lines. Nobody has compiled it yet, because")
        assert text.endswith(STRIPES)
