"""The form: required and optional fields, starting values, and long arguments."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from fanlight.dev.targets import EXAMPLES as NAMES
from support.browser import until
from support.inspecting import EXAMPLES, call, form, in_process, mirror, opened, running, view

pytestmark = pytest.mark.anyio

SERVER = """
import json
from typing import Annotated
from pydantic import BaseModel, Field
from mcp.server import MCPServer

server = MCPServer("form")

class Row(BaseModel):
    label: str
    value: float

@server.tool()
def draw(title: str, rows: Annotated[list[Row], Field(min_length=1)], note: str = "") -> str:
    return json.dumps({"title": title, "rows": len(rows), "note": note})

@server.tool()
def flags(certain: bool | None, loud: bool | None = None, quick: bool = False, words: str | None = "x") -> str:
    return json.dumps([certain, loud, quick, words])

@server.tool()
def given(loud: Annotated[bool | None, Field(description="Or not.")] = None, **more: int) -> str:
    return "unset"

@server.tool()
def greet(name: Annotated[str, Field(examples=["Ada"])], title: Annotated[str, Field(examples=["Dr"])] = "") -> str:
    return f"{title} {name}"

if __name__ == "__main__":
    server.run("stdio")
"""


@pytest.fixture
def server(tmp_path: Path) -> str:
    path = tmp_path / "form.py"
    path.write_text(SERVER, encoding="utf-8")
    return str(path)


async def answer(page: Page, number: int = 0) -> Any:
    seen = page.get_by_role("article").nth(number).locator("pre").first
    await expect(seen).not_to_be_empty()
    return json.loads(await seen.inner_text())


async def test_missing_required_fields_are_reported_before_the_call(browser: Browser, server: str) -> None:
    with running(in_process(server)) as (inspector, address):
        async with opened(browser, inspector, address) as (page, problems):
            await call(page, "draw")
            missing = form(page).get_by_role("alert")
            await expect(missing).to_contain_text(
                "title is required; rows, item 1, label is required; rows, item 1, value is required."
            )
            title = form(page).get_by_label("title *")
            await expect(title).to_be_focused()
            await expect(title).to_have_attribute("aria-invalid", "true")
            await expect(page.get_by_role("article")).to_have_count(0)
            await title.fill("Lakes")
            assert await title.get_attribute("aria-invalid") is None
            await form(page).get_by_label("label *").fill("Huron")
            await call(page)
            await expect(missing).to_contain_text("rows, item 1, value is required.")
            await expect(form(page).get_by_label("value *")).to_be_focused()
            await form(page).get_by_label("value *").fill("3")
            await page.keyboard.press("Enter")
            assert await answer(page) == {"title": "Lakes", "rows": 1, "note": ""}
            await expect(missing).to_be_empty()
            await page.get_by_role("button", name="Remove an item").click()
            await call(page)
            await expect(missing).to_contain_text("rows needs at least 1 item.")
            assert problems == []


async def test_an_incomplete_call_can_be_sent_anyway(browser: Browser, server: str) -> None:
    with running(in_process(server)) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await call(page, "draw")
            await form(page).get_by_role("button", name="Call anyway").press("Enter")
            article = page.get_by_role("article")
            await expect(article).to_contain_text("The tool failed")
            await expect(article.locator(".problems")).to_contain_text("title")
            await page.get_by_role("checkbox", name="as JSON").check()
            await page.get_by_label("Arguments as JSON").fill('{"title": "Lakes"}')
            await call(page)
            await expect(form(page).get_by_role("alert")).to_contain_text("rows is required.")
            await form(page).get_by_role("button", name="Call anyway").click()
            await expect(article).to_have_count(2)


async def test_an_optional_boolean_can_be_left_out_or_null(browser: Browser, server: str) -> None:
    with running(in_process(server)) as (inspector, address):
        async with opened(browser, inspector, address) as (page, problems):
            await page.get_by_role("navigation").get_by_role("button", name="flags").click()
            loud, certain = form(page).get_by_label("loud"), form(page).get_by_label("certain *")
            assert await loud.locator("option").all_inner_texts() == ["(not given)", "true", "false", "null"]
            assert await certain.locator("option").all_inner_texts() == ["true", "false", "null"]
            await expect(form(page).get_by_label("quick")).to_have_attribute("type", "checkbox")
            await certain.select_option("null")
            await call(page)
            assert await answer(page) == [None, None, False, "x"]
            sent = page.get_by_role("tabpanel")
            await page.get_by_role("tab", name="Result").click()
            await expect(sent).to_contain_text('"certain": null')
            await expect(sent).not_to_contain_text("loud")
            for label, value in (("true", True), ("false", False), ("null", None)):
                await loud.select_option(label)
                await call(page)
                await expect(sent).to_contain_text(f'"loud": {label}')
                assert (await answer(page))[1] is value
            assert problems == []


async def test_a_required_field_starts_with_the_example_of_its_schema(browser: Browser, server: str) -> None:
    with running(in_process(server)) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await page.get_by_role("navigation").get_by_role("button", name="greet").click()
            await expect(form(page).get_by_label("name *")).to_have_value("Ada")
            await expect(form(page).get_by_label("title")).to_have_value("")


# A notice is removed after a few seconds, which a slow machine may need to look at it.
KEEP_NOTICES = """() => {
  const notice = document.querySelector("#notice");
  globalThis.notices = [];
  new MutationObserver(() => notices.push(notice.textContent)).observe(notice, { childList: true });
}"""


async def until_notice(page: Page, text: str) -> None:
    await until(page.main_frame, f"notices.some((notice) => notice.includes({json.dumps(text)}))")


async def test_long_arguments_are_not_in_the_address_but_can_be_copied(browser: Browser, tmp_path: Path) -> None:
    with running(in_process(mirror(tmp_path))) as (inspector, address):
        async with opened(browser, inspector, address) as (page, problems):
            await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
            await page.evaluate(KEEP_NOTICES)
            await page.get_by_role("navigation").get_by_role("button", name="mirror").click()
            arguments = {"words": ["x" * 1_000_000], "wait": 0}
            await page.get_by_role("checkbox", name="as JSON").check()
            await page.get_by_label("Arguments as JSON").fill(json.dumps(arguments))
            await call(page)
            await expect(view(page).locator("#received")).to_contain_text("result")
            await until_notice(page, "too long for the address (1.0 MB)")
            assert len(page.url) < 200
            await page.get_by_role("button", name="Copy as JSON").click()
            await until_notice(page, "The arguments are copied.")
            assert json.loads(await page.evaluate("navigator.clipboard.readText()")) == arguments
            await page.get_by_role("button", name="Copy link").click()
            await until_notice(page, "without the arguments")
            await page.get_by_label("Arguments as JSON").fill('{"words": ["short"]}')
            await call(page)
            await expect(page).to_have_url(re.compile("short"))
            assert problems == []


SHOWN = {
    "clock": "time >> nth=0",
    "todo": "text=Read the tutorial",
    "chart": "text=Amazon",
    "wizard": "button:visible >> nth=0",
    "dashboard": "text=Memory",
    "map": "canvas",
    "image": "canvas, img",
    "game": "button >> nth=0",
    "shader": "canvas",
    "speech": "text=How was your day?",
    "video": "video",
    "monitor": "text=Orders paid",
    "scenario": "text=Panels",
    "document": "text=The Python manual",
    "qr": "svg",
    "score": "text=Ode to Joy",
    "outline": "text=They cannot pay",
}


@pytest.mark.parametrize("name", NAMES)
async def test_each_example_renders_with_its_initial_arguments(name: str, browser: Browser) -> None:
    with running(in_process(str(EXAMPLES / name)), reload=False) as (inspector, address):
        async with opened(browser, inspector, address) as (page, problems):
            await call(page)
            await expect(view(page).locator(SHOWN[name]).first).to_be_visible()
            await expect(page.locator(".size")).to_contain_text("×")
            height = int((await page.locator(".size").inner_text()).split("× ")[1])
            assert height > 80
            await expect(page.locator(".problems")).to_be_empty()
            assert problems == []
