"""The outline: what the validation finds, how the user edits the tree, and the plugin that installs it."""

import json
import os
import runpy
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from fanlight.host.upstream.config import Command, load_config
from support.examples import EXAMPLES, VIEWS, Refusing, client_of, showing
from support.wire import NO_UI, UI, VERSIONS, over_stdio

pytestmark = pytest.mark.anyio

OUTLINE: dict[str, Any] = VIEWS["outline"][2]["outline"]


async def refined(**arguments: Any) -> dict[str, Any]:
    async with client_of("outline") as client:
        return await client.call("refine_node", **{"outline": OUTLINE, **arguments})


async def test_the_model_gets_text_and_the_view_gets_the_tree() -> None:
    async with client_of("outline") as client:
        result = await client.call("show_outline", outline=OUTLINE)
    assert result["content"][0]["text"] == (
        "Why do visitors leave?\n1 Price (60 %)\n2 Time (30 %)\n  2.1 Delivery\n  2.2 Payment\n\n"
        "- whole: The parts of “Why do visitors leave?” add up to 90 %: 10 % is missing."
    )
    assert result["structuredContent"]["outline"]["parts"][1]["parts"][0] == {
        "title": "Delivery",
        "share": None,
        "parts": [],
    }


@pytest.mark.parametrize(
    ("parts", "finding"),
    [
        ([{"title": "One"}], "has only one part"),
        ([{"title": "One"}, {"title": "one "}], "is also at 1"),
        ([{"title": "One", "share": 70}, {"title": "Two", "share": 60}], "overlap: they add up to 130 %"),
        ([{"title": "One", "share": 70}, {"title": "Two"}], "Only 1 of the 2 parts"),
        ([{"title": str(number)} for number in range(8)], "Group them"),
    ],
)
async def test_the_validation_finds_overlaps_and_gaps(parts: list[dict[str, Any]], finding: str) -> None:
    async with client_of("outline", NO_UI) as client:
        result = await client.call("validate_outline", outline={"question": "Why?", "parts": parts})
    assert [finding in found["text"] for found in result["structuredContent"]["findings"]] == [True]


async def test_a_client_without_views_has_no_tool_that_refines() -> None:
    async with client_of("outline", NO_UI) as client:
        assert set(await client.tools()) == {"show_outline", "validate_outline"}


@pytest.mark.parametrize(
    ("action", "path", "value", "parts", "selected"),
    [
        ("rename", "1", "Cost", ["Cost", "Time"], "1"),
        ("add", "", "Trust", ["Price", "Time", "Trust"], "3"),
        ("rest", "", "", ["Price", "Time", "Everything else"], "3"),
        ("remove", "1", "", ["Time"], "1"),
        ("down", "1", "", ["Time", "Price"], "2"),
        ("up", "1", "", ["Price", "Time"], "1"),
    ],
)
async def test_a_refinement_returns_the_new_outline(
    action: str, path: str, value: str, parts: list[str], selected: str
) -> None:
    new = (await refined(action=action, path=path, value=value))["structuredContent"]
    assert [part["title"] for part in new["outline"]["parts"]] == parts
    assert new["selected"] == selected


async def test_shares_are_completed_or_scaled_to_the_whole() -> None:
    rest = (await refined(action="rest", path=""))["structuredContent"]
    assert [part["share"] for part in rest["outline"]["parts"]] == [60, 30, 10]
    scaled = (await refined(action="scale", path=""))["structuredContent"]
    assert [part["share"] for part in scaled["outline"]["parts"]] == [66.7, 33.3]
    assert rest["findings"] == scaled["findings"] == []


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"path": "7", "action": "remove"}, "There is no part '7'. The parts are 1, 2, 2.1, 2.2."),
        ({"path": "", "action": "remove"}, "the path is empty"),
        ({"path": "1", "action": "share", "value": "much"}, "expected a number from 0 to 100"),
    ],
)
async def test_a_refinement_that_is_not_possible_says_why(arguments: dict[str, str], error: str) -> None:
    result = await refined(**arguments)
    assert result["isError"]
    assert error in result["content"][0]["text"]


async def test_the_user_edits_the_tree_and_the_model_gets_it(browser: Browser) -> None:
    async with showing(browser, "outline") as stage:
        rows, status = stage.view.get_by_role("treeitem"), stage.view.get_by_role("status")
        await expect(rows).to_have_count(4)
        await stage.view.get_by_role("button", name="Add “Everything else”").click()
        await expect(status).to_have_text("✓ 5 parts that cover the question without overlaps")
        await rows.filter(has_text="Delivery").click()
        await stage.view.get_by_label("Title").fill("<b>Slow delivery</b>")
        await stage.view.get_by_label("Share").fill("12,5")
        await stage.view.get_by_role("button", name="Save").click()
        await expect(rows.nth(2)).to_have_accessible_name("<b>Slow delivery</b>, 12.5 %")
        context = (await stage.sent("ui/update-model-context", 3))[-1]["content"][0]["text"]
        assert "  2.1 <b>Slow delivery</b> (12.5 %)" in context
        await stage.view.get_by_role("button", name="Undo").click()
        await expect(rows.nth(2)).to_have_accessible_name("Delivery, 12.5 %")
        context = (await stage.sent("ui/update-model-context", 4))[-1]["content"][0]["text"]
        assert "  2.1 Delivery (12.5 %)" in context
        await stage.view.get_by_role("button", name="Ask the model").click()
        (message,) = await stage.sent("ui/message", 1)
        assert "(part 2.1) down further" in message["content"][0]["text"]


async def test_the_tree_has_the_keys_of_a_tree(browser: Browser) -> None:
    async with showing(browser, "outline") as stage:
        rows = stage.view.get_by_role("treeitem")
        await rows.first.press("ArrowDown")
        await expect(rows.nth(1)).to_be_focused()
        await rows.nth(1).press("ArrowLeft")
        await expect(rows).to_have_count(2)
        await expect(rows.nth(1)).to_be_focused()
        await expect(rows.nth(1)).to_have_attribute("aria-expanded", "false")
        await rows.nth(1).press("ArrowRight")
        await rows.nth(1).press("ArrowRight")
        await expect(rows.nth(2)).to_be_focused()
        await rows.nth(2).press("Alt+ArrowDown")
        await expect(rows.nth(3)).to_have_accessible_name("Delivery")
        await expect(rows.nth(3)).to_be_focused()
        await rows.nth(3).press("Delete")
        await expect(rows).to_have_count(3)
        await expect(rows.nth(2)).to_be_focused()
        await rows.nth(2).press("Enter")
        await expect(stage.view.get_by_label("Title")).to_be_focused()


async def test_a_change_that_the_host_rejects_leaves_the_tree_as_it_was(browser: Browser) -> None:
    async with showing(browser, "outline") as stage:
        stage.client = Refusing()
        await stage.view.get_by_role("button", name="Remove").click()
        await expect(stage.view.get_by_role("status")).to_have_text("The host refuses.")
        await expect(stage.view.get_by_role("treeitem")).to_have_count(4)


@pytest.mark.parametrize(("options", "transport"), [([], "stdio"), (["--http"], "streamable-http")])
def test_the_program_serves_over_stdio_or_http(
    options: list[str], transport: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    monkeypatch.setattr("mcp.server.MCPServer.run", lambda _server, transport: started.append(transport))
    monkeypatch.setattr(sys, "argv", ["server.py", *options])
    runpy.run_path(str(EXAMPLES / "outline" / "server.py"), run_name="__main__")
    assert started == [transport]


@pytest.mark.process
async def test_the_plugin_runs_as_one_folder(tmp_path: Path) -> None:
    plugin = tmp_path / "outline"
    shutil.copytree(EXAMPLES / "outline", plugin, ignore=shutil.ignore_patterns("__pycache__"))
    assert json.loads((plugin / ".claude-plugin" / "plugin.json").read_text(encoding="utf-8"))["name"] == "outline"
    text = (plugin / ".mcp.json").read_text(encoding="utf-8").replace("${CLAUDE_PLUGIN_ROOT}", str(plugin))
    (tmp_path / "expanded.json").write_text(text, encoding="utf-8")
    command = load_config(tmp_path / "expanded.json", environ=os.environ)["outline"]
    assert isinstance(command, Command)
    assert (command.command, command.args[:2]) == ("uv", ("run", "--script"))
    # uv reads these lines and installs the package, which is installed here already.
    assert '# dependencies = ["fanlight"]\n' in (plugin / "server.py").read_text(encoding="utf-8")
    async with over_stdio(Path(command.args[2]), VERSIONS[-1], UI) as client:
        assert "--color-background-primary" in (await client.read("ui://outline/outline"))["text"]
