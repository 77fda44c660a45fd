"""Views of published servers on the stage."""

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
from playwright.async_api import Browser

from fanlight.host import Policy
from fanlight.testing.permissive import ALLOW_ALL
from fanlight.testing.render import not_rendered
from fanlight.testing.stage import Stage
from support.published import Published

pytestmark = pytest.mark.anyio

TOOLS = {
    "basic-vanillajs": "get-time",
    "basic-react": "get-time",
    "debug": "debug-tool",
    "budget-allocator": "get-budget-data",
    "threejs": "show_threejs_scene",
}


@pytest.fixture(scope="module")
async def stage(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    servers: dict[str, Any] = {
        name: Published(f"@modelcontextprotocol/server-{name}", tmp_path_factory.mktemp(name)).command()
        for name in TOOLS
    }
    async with Stage(
        {**servers, "strict": servers["threejs"]},
        browser=browser,
        policy=Policy({**ALLOW_ALL, "servers": {"threejs": {"profile": "compat"}}}),
    ) as stage:
        yield stage


@pytest.mark.parametrize("name", TOOLS)
async def test_a_published_view_settles_and_is_rendered(name: str, stage: Stage) -> None:
    async with stage.open(name, TOOLS[name]) as view:
        # The debug View is higher than the window, and none of it may be missing.
        assert await not_rendered(view, await view.screenshot()) is None
        assert view.errors == []
        assert [violation for violation in view.violations if not violation.is_probe] == []


async def test_freeze_stops_an_endless_animation(stage: Stage) -> None:
    async with stage.open("threejs", TOOLS["threejs"], freeze=True) as view:
        first = await view.screenshot()
        clock = await view.frame.evaluate("Date.now()")
        await anyio.sleep(0.5)
        assert await view.frame.evaluate("Date.now()") == clock
        assert await view.screenshot() == first


async def test_a_view_that_shows_its_own_error_is_not_rendered(stage: Stage) -> None:
    async with stage.open("strict", TOOLS["threejs"]) as view:
        assert "Evaluating a string as JavaScript violates" in str(await not_rendered(view, await view.screenshot()))
        assert any(violation.blocked == "eval" and not violation.is_probe for violation in view.violations)
