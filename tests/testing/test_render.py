"""Which Views count as rendered."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from mcp.server import MCPServer
from playwright.async_api import Browser

from fanlight import Apps, View
from fanlight.testing.live_view import StageError
from fanlight.testing.render import not_rendered, picture
from fanlight.testing.stage import Stage

pytestmark = pytest.mark.anyio

PAGE = """<!doctype html><html><head><title>x</title></head><body>%s<script type="module">
import { App } from "@modelcontextprotocol/ext-apps";
const app = new App({ name: "x", version: "1" });
%s
await app.connect();
</script></body></html>"""

TITLE = "<h1>Title</h1>"


def fine() -> str:
    return "ok"


def broken() -> str:
    raise ValueError("no data today")


RENDERED = {
    "speaks of errors": "<h1>Errors and failures</h1><p>0 errors</p><button class='error'>Simulate an error</button>",
    "hidden alerts": f"{TITLE}<p role='alert' hidden>x</p><p role='alert'></p><p class='error' style='opacity: 0'>x",
    "a picture alone": "<div style='height: 50px; background: linear-gradient(red, blue)'></div>",
    "a loading bar of several": f"{TITLE}<p>Loading</p><p>Saved: 3 of 5</p>",
}

NOT_RENDERED: dict[str, tuple[str, str, Callable[[], str], str]] = {
    "error text": (
        "<p>Error: cannot read properties of undefined</p>",
        "",
        fine,
        "The View shows an error: Error: cannot read properties of undefined",
    ),
    "a type error": ("<pre>TypeError: x is not a function</pre>", "", fine, "The View shows an error: TypeError: x is"),
    "could not": ("<p>Could not load the data.</p>", "", fine, "The View shows an error: Could not load the data."),
    "an alert": (f"{TITLE}<p role='alert'>The data is missing.</p>", "", fine, "an error: The data is missing."),
    "an error class": (f"{TITLE}<p class='banner error-message'>It broke.</p>", "", fine, "an error: It broke."),
    "an alert in a shadow tree": (
        f"{TITLE}<div></div>",
        """document.querySelector("div").attachShadow({ mode: "open" }).innerHTML = "<p role='alert'>Deep.</p>";""",
        fine,
        "an error: Deep.",
    ),
    "blank": ("<div style='height: 50px'></div>", "", fine, "The View shows nothing: its picture has one colour."),
    "blank, with a reason": (
        "<div style='height: 50px'></div>",
        "setTimeout(() => { throw new Error('too early'); });",
        fine,
        "one colour. Error: too early",
    ),
    "white on white": ("<p style='color: white'>Hello</p>", "", fine, "The View shows nothing"),
    "loading": ("<p>Loading data…</p>", "", fine, "The View still says: Loading data…"),
    "an error result": ("<p>Hello</p>", "", broken, "The tool answered with an error: Error executing tool x"),
}


@pytest.fixture(scope="module")
async def stage(browser: Browser) -> AsyncIterator[Stage]:
    servers: dict[str, MCPServer[Any]] = {}
    cases = {**{name: (body, "", fine, "") for name, body in RENDERED.items()}, **NOT_RENDERED}
    for name, (body, script, answer, _) in cases.items():
        server = servers[name] = MCPServer("x")
        Apps(server).tool("x", description="x", view=View.html(PAGE % (body, script), uri="ui://x/x"))(answer)
    async with Stage(servers, browser=browser) as stage:
        yield stage


@pytest.mark.parametrize("name", RENDERED)
async def test_a_view_that_shows_something_is_rendered(name: str, stage: Stage) -> None:
    async with stage.open(name, "x") as view:
        assert await not_rendered(view, await view.screenshot()) is None
        assert (await picture(view)).startswith(b"\x89PNG")


@pytest.mark.parametrize("name", NOT_RENDERED)
async def test_a_view_that_shows_an_error_or_nothing_is_not_rendered(name: str, stage: Stage) -> None:
    async with stage.open(name, "x") as view:
        reason = await not_rendered(view, await view.screenshot())
        assert NOT_RENDERED[name][3] in str(reason)


async def test_picture_raises_for_an_unrendered_view_unless_may_fail(stage: Stage) -> None:
    async with stage.open("an alert", "x") as view:
        with pytest.raises(StageError, match="The data is missing") as raised:
            await picture(view)
        assert raised.value.step == "render"
        assert (await picture(view, may_fail=True)).startswith(b"\x89PNG")
