"""`fanlight dev` in a real browser: forms, reloading, addresses, keyboard and layout."""

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from queue import Queue
from typing import Any
from urllib.parse import quote

import pytest
from playwright.async_api import Browser, expect

from fanlight.dev.prewarm import PrewarmedProcesses
from fanlight.dev.targets import servers
from fanlight.inspector import inspector as app
from support.inspecting import EXAMPLES, call, expect_after_reload, form, in_process, mirror, opened, running, view

pytestmark = pytest.mark.anyio


async def test_a_view_is_two_clicks_away_from_the_first_page(browser: Browser) -> None:
    with running(in_process()) as (inspector, address):
        async with opened(browser, inspector, address) as (page, problems):
            await call(page, "show_todos")
            await expect(view(page).get_by_text("Read the tutorial")).to_be_visible()
            await expect(page.get_by_role("tabpanel")).to_contain_text("ui/notifications/tool-result")
            await expect(page.locator(".size")).to_have_text(re.compile(r"\d+ × \d+"))
            await page.get_by_role("tab", name="Security").click()
            await expect(page.get_by_role("tabpanel")).to_contain_text("default-src")
            await expect(page.get_by_role("tabpanel")).to_contain_text("SHA-256")
            await page.get_by_role("tab", name="Result").click()
            await expect(page.get_by_role("tabpanel")).to_contain_text("structuredContent")
            await expect(page.get_by_text("What the model sees")).to_have_text(re.compile(r"sees \d+ B$"))
            await page.get_by_text("What the model sees").click()
            await expect(page.get_by_role("article")).to_contain_text("Read the tutorial")
            assert problems == []


async def test_the_form_comes_from_the_schema_and_the_address_repeats_the_call(browser: Browser) -> None:
    with running(in_process(str(EXAMPLES / "chart"))) as (inspector, address):
        async with opened(browser, inspector, address) as (page, problems):
            await page.get_by_role("button", name="draw_chart").click()
            await form(page).get_by_label("title").fill("Lakes")
            await expect(form(page).get_by_label("label *")).to_have_count(3)  # the example of the schema
            for _ in range(2):
                await page.get_by_role("button", name="Remove an item").first.click()
            for name, size in (("Superior", "82100"), ("Huron", "59600")):
                if name == "Huron":
                    await page.get_by_role("button", name="+ Add").click()
                await form(page).get_by_label("label *").last.fill(name)
                await form(page).get_by_label("value *").last.fill(size)
            await call(page)
            await expect(view(page).get_by_role("heading")).to_have_text("Lakes")
            await expect(view(page).get_by_text("82,100")).to_be_visible()
            link = page.url
            await page.goto("about:blank")
            await page.goto(link)
            await expect(form(page).get_by_label("title")).to_have_value("Lakes")
            await expect(form(page).get_by_label("label *").nth(1)).to_have_value("Huron")
            await page.get_by_role("button", name="Remove an item").first.click()
            await page.get_by_role("checkbox", name="as JSON").check()
            assert json.loads(await page.get_by_label("Arguments as JSON").input_value())["rows"] == [
                {"label": "Huron", "value": 59600}
            ]
            assert problems == []


async def test_arguments_are_remembered_and_invalid_json_is_reported(browser: Browser, tmp_path: Path) -> None:
    with running(in_process(mirror(tmp_path))) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await page.get_by_role("navigation").get_by_role("button", name="plain").click()
            await form(page).get_by_label("count").fill("3")
            await call(page)
            await expect(page.get_by_role("article")).to_contain_text("plain plain plain")
            await page.reload()
            await page.get_by_role("navigation").get_by_role("button", name="plain").click()
            await expect(form(page).get_by_label("count")).to_have_value("3")
            await page.get_by_role("checkbox", name="as JSON").check()
            await page.get_by_label("Arguments as JSON").fill('{"count": }')
            await call(page)
            await expect(page.get_by_role("alert").filter(has_text="JSON")).to_be_visible()


FORM = """
from typing import Literal
from pydantic import BaseModel, Field
from mcp.server import MCPServer

server = MCPServer("form")

class Circle(BaseModel):
    kind: Literal["circle"]
    radius: float

class Square(BaseModel):
    kind: Literal["square"]
    side: float = Field(2, description="How long each side is.")

class Place(BaseModel):
    name: str
    open: bool = True

@server.tool()
def draw(shape: Circle | Square, places: list[Place], colour: Literal["red", "green"] = "green",
         note: str | None = None, boss: Place | None = None, anything: dict | None = None,
         many: list[list[int]] | None = None) -> str:
    import json
    return json.dumps({"shape": shape.model_dump(), "places": [p.model_dump() for p in places], "colour": colour,
                       "note": note, "boss": boss and boss.model_dump(), "anything": anything, "many": many})

if __name__ == "__main__":
    server.run("stdio")
"""


async def test_unions_lists_nested_objects_and_untyped_values_have_controls(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "form.py"
    path.write_text(FORM, encoding="utf-8")
    with running(in_process(str(path))) as (inspector, address):
        async with opened(browser, inspector, address) as (page, problems):
            await expect(page.get_by_role("navigation")).to_contain_text("No tool of this server has a View")
            await page.get_by_role("button", name="draw").click()
            await page.get_by_label("shape: which kind").select_option("Square")
            await expect(page.get_by_text("How long each side is.")).to_be_visible()
            await form(page).get_by_label("side").fill("4")
            await page.get_by_role("group", name="places").get_by_role("button", name="+ Add").click()
            await form(page).get_by_label("name *").fill("Oslo")
            await form(page).get_by_label("open").uncheck()
            await form(page).get_by_label("colour").select_option("red")
            await form(page).get_by_label("anything").fill('{"a": [1, 2]}')
            many = page.get_by_role("group", name="many")
            await many.get_by_role("button", name="+ Add").last.click()
            await many.get_by_role("button", name="+ Add").first.click()
            await many.get_by_role("spinbutton").fill("7")
            await call(page)
            seen = page.get_by_role("article").locator("pre").first
            await expect(seen).to_contain_text('"kind": "square"')
            assert json.loads(await seen.inner_text()) == {
                "shape": {"kind": "square", "side": 4},
                "places": [{"name": "Oslo", "open": False}],
                "colour": "red",
                "note": None,
                "boss": None,
                "anything": {"a": [1, 2]},
                "many": [[7]],
            }
            assert problems == []


async def test_a_changed_view_and_a_renamed_tool_are_reloaded(browser: Browser, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    folder = tmp_path / "examples" / "clock"
    with running(servers([str(folder)])) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await form(page).get_by_label("zone").fill("Asia/Tokyo")
            await call(page)
            await expect(view(page).locator("time").first).not_to_be_empty()
            html = folder / "clock.html"
            changed = html.read_text("utf-8").replace("<body>", "<body><p id=new>brand new</p>")
            html.write_text(changed, encoding="utf-8")
            await expect_after_reload(view(page).locator("#new"))
            await expect_after_reload(view(page).get_by_text("Asia/Tokyo"))
            server = folder / "server.py"
            server.write_text(server.read_text("utf-8").replace("def get_time", "def get_the_time"), encoding="utf-8")
            await expect(page.get_by_role("button", name="get_the_time")).to_be_visible()
            await expect(form(page).get_by_role("heading")).to_contain_text("get_the_time")
            await expect(form(page).get_by_label("zone")).to_have_value("Asia/Tokyo")
            await call(page)
            await expect(view(page).get_by_text("Asia/Tokyo")).to_be_visible()
            await expect(page.locator(".problems").first).to_be_empty()
            assert "get_the_time" in page.url


async def test_the_form_of_a_removed_tool_is_removed(browser: Browser, tmp_path: Path) -> None:
    folder = Path(mirror(tmp_path))
    with running(servers([str(folder)])) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await page.get_by_role("navigation").get_by_role("button", name="plain").click()
            await expect(form(page).get_by_label("count")).to_be_visible()
            server = folder / "server.py"
            text = server.read_text("utf-8").replace("@server.tool()\ndef plain", "def plain")
            server.write_text(text, encoding="utf-8")
            await expect(form(page)).to_contain_text("The server mirror has no tool plain any more.")
            await call(page, "mirror")
            await expect(view(page).locator("#received")).to_contain_text("result")


INSIDE = """
from mcp.server import MCPServer
from fanlight import Apps, View

server = MCPServer("inside")
apps = Apps(server)
HTML = '''<!doctype html><title>x</title><p id=WORD>WORD</p><output></output><script type="module">
  import { App } from "@modelcontextprotocol/ext-apps";
  const app = new App({ name: "x", version: "1" });
  app.ontoolresult = ({ content }) => (document.querySelector("output").textContent = content[0].text);
  await app.connect();
</script>'''

@apps.tool(view=View.html(HTML.replace("WORD", "same"), "ui://inside/same"))
def same(word: str = "one") -> str:
    return f"{word} is the same"

@apps.tool(view=View.html(HTML.replace("WORD", "before"), "ui://inside/other"))
def other(word: str = "one") -> str:
    return f"{word} is another"

if __name__ == "__main__":
    server.run("stdio")
"""


async def test_only_the_changed_view_of_a_changed_server_is_reloaded(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "server.py"
    path.write_text(INSIDE, encoding="utf-8")
    with running(servers([str(path)])) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await call(page, "same")
            await expect(view(page).get_by_text("one is the same")).to_be_visible()
            await view(page).locator("#same").evaluate("element => (element.textContent = 'touched')")
            await call(page, "other")
            await expect(view(page).get_by_text("one is another")).to_be_visible()
            path.write_text(INSIDE.replace('"before"', '"after"'), encoding="utf-8")
            await expect_after_reload(view(page).locator("#after"))
            await expect_after_reload(view(page).get_by_text("one is another"))
            await expect(view(page, 1).get_by_text("touched")).to_be_visible()


async def test_a_view_that_could_not_be_shown_is_shown_when_its_file_is_fixed(browser: Browser, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    folder = tmp_path / "examples" / "clock"
    html = folder / "clock.html"
    right = html.read_text("utf-8")
    with running(servers([str(folder)])) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await call(page)
            await expect(view(page).locator("time").first).not_to_be_empty()
            html.write_text(right.replace("<body>", '<body><img src="nothing.png">'), encoding="utf-8")
            await expect(page.locator(".card").get_by_text("The View cannot be shown").first).to_be_visible()
            html.write_text(right.replace("<body>", "<body><p id=fixed>fixed</p>"), encoding="utf-8")
            await expect_after_reload(view(page).locator("#fixed"))
            await expect(page.locator(".card").get_by_text("The View cannot be shown")).to_have_count(0)


class RecordingPrewarm(PrewarmedProcesses):
    """Prewarms nothing, and records what it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.prepared: Queue[dict[str, str]] = Queue()
        self.taken: Queue[dict[str, str]] = Queue()

    async def prepare(self, script: Path, environment: Mapping[str, str]) -> None:
        self.prepared.put(dict(environment))

    async def take(self, script: Path, environment: Mapping[str, str]) -> None:
        self.taken.put(dict(environment))


@pytest.mark.process
def test_the_prewarmed_process_has_the_environment_of_the_server(tmp_path: Path) -> None:
    path, prewarmed = Path(mirror(tmp_path)), RecordingPrewarm()
    with running(servers([str(path)]), prewarmed=prewarmed):
        first = prewarmed.prepared.get(timeout=60)
        server = path / "server.py"
        server.write_text(server.read_text("utf-8") + "\n", encoding="utf-8")
        assert first == prewarmed.prepared.get(timeout=60)
        assert first == prewarmed.taken.get(timeout=60)
        assert first == prewarmed.taken.get(timeout=60)
    assert "FANLIGHT_LINES" in first


async def test_without_reload_nothing_is_watched(browser: Browser, tmp_path: Path) -> None:
    path = mirror(tmp_path)
    with running(servers([path]), reload=False) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await call(page, "mirror")
            await expect(view(page).locator("#received")).to_contain_text("result")
            (tmp_path / "mirror" / "mirror.html").write_text("<p id=new>new</p>", encoding="utf-8")
            await page.wait_for_timeout(1_500)
            await expect(view(page).locator("#new")).to_have_count(0)


def test_the_page_preloads_all_of_its_scripts() -> None:
    pages = Path(app.__file__).parent / "pages"
    named = re.findall(r'(?:src|href)="/pages/([^"]+[.]js)"', (pages / "index.html").read_text("utf-8"))
    assert sorted(named) == sorted(path.name for path in pages.glob("*.js"))


async def test_the_address_holds_the_panel_and_the_settings(browser: Browser, tmp_path: Path) -> None:
    with running(in_process(mirror(tmp_path))) as (inspector, address):
        arguments = quote(json.dumps({"words": ["from the address"]}))
        place = f"#/mirror/mirror?args={arguments}&panel=Security&theme=dark&width=390&locale=de-DE"
        async with opened(browser, inspector, address, place) as (page, problems):
            await expect(page.get_by_role("tab", name="Security")).to_have_attribute("aria-selected", "true")
            await expect(form(page).get_by_label("Item 1")).to_have_value("from the address")
            await call(page)
            await expect(view(page).locator("#context")).to_contain_text('"locale":"de-DE"')
            await expect(view(page).locator("#context")).to_contain_text('"theme":"dark"')
            assert await page.locator(".card mcp-app").evaluate("element => element.clientWidth") == 390
            await page.get_by_role("tab", name="Model").click()
            assert "panel=Model" in page.url
            assert "width=390" in page.url
            assert problems == []


async def test_everything_can_be_reached_by_keyboard(browser: Browser, tmp_path: Path) -> None:
    with running(in_process(mirror(tmp_path))) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await expect(page.get_by_role("button", name="plain")).to_be_visible()

            async def tab_to(label: str) -> None:
                for _ in range(60):
                    await page.keyboard.press("Tab")
                    focused = "document.activeElement.innerText || document.activeElement.labels?.[0]?.innerText || ''"
                    if (await page.evaluate(focused)).strip().startswith(label):
                        return
                raise AssertionError(f"{label} cannot be reached by Tab")

            await page.keyboard.press("Tab")
            await expect(page.get_by_role("button", name="Skip to the form")).to_be_focused()
            await page.keyboard.press("Enter")
            await expect(form(page).get_by_role("button", name="+ Add")).not_to_be_focused()
            await expect(form(page).get_by_label("wait")).to_be_focused()
            await page.keyboard.press("Enter")
            await expect(view(page).locator("#received")).to_contain_text("result")
            await tab_to("inline")
            await tab_to("Again")
            await page.keyboard.press("Tab")
            await expect(page.get_by_role("button", name="Close mirror")).to_be_focused()
            await page.keyboard.press("Tab")  # into the View
            await expect(view(page).locator("#more")).to_be_focused()
            await page.keyboard.press("Tab")
            await page.keyboard.press("Tab")
            await expect(page.get_by_role("separator", name="Width of the View")).to_be_focused()
            await tab_to("What the model sees")
            await page.keyboard.press("Enter")
            await tab_to("Messages")
            for name in ("Problems", "Security", "Model", "Result", "Messages"):
                await page.keyboard.press("ArrowRight")
                await expect(page.get_by_role("tab", name=name)).to_be_focused()
                await expect(page.get_by_role("tabpanel", name=name)).to_be_visible()
            await page.keyboard.press("End")
            await expect(page.get_by_role("tab", name="Result")).to_be_focused()
            await page.keyboard.press("Home")
            await tab_to("→")
            await page.keyboard.press("Enter")
            await expect(page.get_by_role("tabpanel").locator("pre")).to_contain_text("ui/initialize")
            await page.get_by_role("separator", name="Width of the View").press("Delete")
            await expect(page.get_by_role("article")).to_have_count(0)
            await expect(form(page).get_by_role("button", name="Call", exact=True)).to_be_focused()
            await page.get_by_role("navigation").get_by_role("button", name="plain").press("Enter")
            await expect(form(page).get_by_label("count")).to_be_focused()
            await page.keyboard.press("Enter")
            await expect(page.get_by_role("article")).to_contain_text("plain")


async def test_redrawing_keeps_the_focus(browser: Browser, tmp_path: Path) -> None:
    with running(in_process(mirror(tmp_path)), policy="allow") as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await call(page, "mirror")
            await expect(view(page).locator("#received")).to_contain_text("result")
            await page.get_by_text("Server details").click()
            failing = page.get_by_role("navigation").get_by_label("fail requests")
            await failing.focus()
            await page.keyboard.press("Space")  # to whatever has the focus: the list may be drawn again in between
            await expect(page.get_by_role("navigation").locator(".mark.warn")).to_have_text("failing")
            await expect(failing).to_be_focused()
            first = page.get_by_role("tabpanel").locator("summary").first
            await first.focus()
            before = await page.get_by_role("tabpanel").locator("li").count()
            await page.get_by_label("Theme").select_option("dark")
            await first.focus()
            await expect(page.get_by_role("tabpanel").locator("li")).not_to_have_count(before)
            await expect(first).to_be_focused()


@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (800, "light"), (1400, "light")])
async def test_nothing_is_wider_than_the_page(width: int, scheme: Any, browser: Browser) -> None:
    with running(in_process()) as (inspector, address):
        viewport: Any = {"width": width, "height": 800}
        async with opened(browser, inspector, address, viewport=viewport, color_scheme=scheme) as (page, problems):
            await call(page, "get_time")
            await expect(view(page).locator("time").first).not_to_be_empty()
            await page.get_by_text("More settings").click()
            await page.get_by_text("Server details").first.click()
            await page.get_by_label("Show as").select_option("claude")
            again = page.get_by_role("button", name="Again")
            assert await again.evaluate("button => button.clientHeight") < 40  # one line
            for name in ("Problems", "Security", "Model", "Result", "Messages"):
                await page.get_by_role("tab", name=name).click()
                assert await page.evaluate("document.documentElement.scrollWidth") <= width
            assert problems == []


async def test_resources_and_prompts_of_a_server_are_listed(browser: Browser, tmp_path: Path) -> None:
    with running(in_process(mirror(tmp_path))) as (inspector, address):
        async with opened(browser, inspector, address) as (page, problems):
            nav = page.get_by_role("navigation")
            await nav.get_by_text("Server details").click()
            await expect(nav).to_contain_text("2026-07-28, stateless")
            await expect(nav).to_contain_text("poem")
            await nav.get_by_text("note://one").click()
            await expect(nav).to_contain_text("the text of the note")
            assert problems == []


async def test_a_changed_tool_updates_the_form_and_keeps_its_values(browser: Browser, tmp_path: Path) -> None:
    folder = Path(mirror(tmp_path))
    with running(servers([str(folder)])) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await page.get_by_role("navigation").get_by_role("button", name="plain").click()
            await form(page).get_by_label("count").fill("7")
            changed = (
                (folder / "server.py")
                .read_text("utf-8")
                .replace("count: int = 1", "count: int = 1, loud: bool = False")
            )
            (folder / "server.py").write_text(changed, encoding="utf-8")
            await expect(form(page).get_by_label("loud")).to_be_visible()
            await expect(form(page).get_by_label("count")).to_have_value("7")
