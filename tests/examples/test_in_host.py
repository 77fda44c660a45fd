"""The examples in the real host: three origins, the default policy, and consent only for changes."""

import re
from typing import Any

import anyio
import pytest
from playwright.async_api import Browser, expect

from fanlight.host import Host, Policy
from support.browser import until, view_frame
from support.calls import app_tools_of, call_app_tool, context_of
from support.examples import VIEWS, server_of
from support.program import Program, program_of

pytestmark = pytest.mark.anyio


def host_of(name: str, rules: dict[str, Any] | None = None) -> Host:
    return Host({name: server_of(name)}, policy=Policy(rules))


async def the_only_view(program: Program) -> str:
    """Wait until the host has the app tools of its View, and return the id of the View."""
    for _ in range(500):
        if tools := app_tools_of(program.host, "game"):
            return tools[0].view
        await program.inside(anyio.sleep(0.01))
    raise AssertionError("no app tools")


@pytest.mark.parametrize("name", VIEWS)
async def test_every_example_is_shown_without_problems(name: str, browser: Browser) -> None:
    _, tool, arguments = VIEWS[name]
    with program_of(host_of(name)) as program:
        async with program.shown(browser, name, tool, arguments) as (page, problems):
            view = await view_frame(page)
            await expect(view.get_by_role("heading", level=1)).to_be_visible()
            await until(view, "document.documentElement.dataset.theme")
            await expect(page.get_by_role("dialog")).to_have_count(0)
            assert problems == []


async def test_the_dashboard_polls_without_consent(browser: Browser) -> None:
    with program_of(host_of("dashboard")) as program:
        async with program.shown(browser, "dashboard", "show_dashboard", {"every": 1}) as (page, problems):
            view = await view_frame(page)
            await expect(view.get_by_role("img", name=re.compile("CPU.*last 3 samples"))).to_be_visible()
            await expect(page.get_by_role("dialog")).to_have_count(0)
            assert problems == []


async def test_the_map_sends_the_visible_area_as_model_context(browser: Browser) -> None:
    host = host_of("map")
    with program_of(host) as program:
        async with program.shown(browser, "map", "show_map", {"places": [{"name": "Cairo"}]}) as (page, problems):
            view = await view_frame(page)
            await expect(view.get_by_role("button", name="Cairo")).to_be_visible()
            await view.get_by_role("application").press("-")
            await expect(view.get_by_role("status")).to_have_text(re.compile("^In view: "))
            (context,) = await context_of(host, "map")
            assert "Markers in view: Cairo." in context["content"][0]["text"]
            assert problems == []


async def test_a_picture_is_read_in_chunks_through_the_host(browser: Browser) -> None:
    with program_of(host_of("image")) as program:
        async with program.shown(browser, "image", "show_picture", {"name": "dunes"}) as (page, problems):
            view = await view_frame(page)
            await expect(view.locator("canvas")).to_be_visible()
            await expect(view.locator("#status")).to_have_text("1200 × 750 pixels, 195 kB in 8 chunks")
            await expect(page.get_by_role("dialog")).to_have_count(0)
            assert problems == []


async def test_the_model_plays_on_the_users_board(browser: Browser) -> None:
    host = host_of("game", {"tools": "allow", "app_tools": "allow"})
    with program_of(host) as program:
        async with program.shown(browser, "game", "start_game", {}) as (page, problems):
            view = await view_frame(page)
            await view.get_by_role("button", name="Column 4").click()
            await expect(view.locator(".cell .user")).to_have_count(1)
            shown = await the_only_view(program)
            assert {tool.name for tool in app_tools_of(host, "game")} == {"look_at_board", "drop_disc"}
            done = await program.inside(call_app_tool(host, shown, "drop_disc", {"column": 4}))
            assert ". . . O . . ." in done["content"][0]["text"]
            await expect(view.get_by_role("button", name="Column 4")).to_have_accessible_name(
                "Column 4, from the bottom: you, the model"
            )
            again = await program.inside(call_app_tool(host, shown, "drop_disc", {"column": 4}))
            assert again["isError"]
            assert problems == []


async def test_a_move_for_the_model_needs_consent_but_reading_the_board_does_not(browser: Browser) -> None:
    host = host_of("game")
    with program_of(host) as program:
        async with program.shown(browser, "game", "start_game", {"first": "model"}) as (page, problems):
            view = await view_frame(page)
            await expect(view.get_by_role("button", name="Ask the model to move")).to_be_visible()
            shown = await the_only_view(program)
            seen = await program.inside(call_app_tool(host, shown, "look_at_board", {}))
            assert "It is the model's turn." in seen["content"][0]["text"]
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(program.inside, call_app_tool(host, shown, "drop_disc", {"column": 1}))
                for tool in ("drop_disc", "play"):  # the model's call of the View, and the View's of its server
                    question = page.get_by_role("dialog").filter(has_text=tool)
                    await question.get_by_role("button", name="Allow once").click()
            await expect(view.locator(".cell .model")).to_have_count(1)
            assert problems == []
