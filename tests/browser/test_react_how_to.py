"""The how-to about Views with React: its View is type-checked, bundled and works, with React and with Preact."""

import json
import runpy
import subprocess
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from fanlight.cli import main
from support.docs import ROOT, blocks, write_files
from support.node import node, node_module
from support.stage import on_stage
from support.wire import UI, in_memory

pytestmark = [pytest.mark.anyio, pytest.mark.process]

PAGE = ROOT / "docs" / "how-to" / "write-a-view-with-react.md"
HOST_PAGE = ROOT / "docs" / "how-to" / "use-mcp-app-in-a-framework.md"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a folder with the files of the page, the types, and what npm installs."""
    write_files(PAGE, tmp_path)
    (tmp_path / "node_modules").symlink_to(ROOT / "node_modules", target_is_directory=True)
    assert main(["types", str(tmp_path / "fanlight-types")]) == 0
    return tmp_path


def compile_errors(project: Path) -> str:
    command = [node(), str(node_module("typescript/bin/tsc")), "-p", str(project)]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, check=False, timeout=60).stdout


async def show(project: Path, browser: Browser) -> int:
    """Use the View in the published bridge, and return the size of its document."""
    server = runpy.run_path(str(project / "server.py"))["server"]
    async with in_memory(server, "2025-11-25", UI) as client:
        html = str((await client.read("ui://shopping/list"))["text"])
        async with on_stage(browser, html, client, bridge="ext-apps-2", context={"theme": "dark"}) as stage:
            await stage.run("show_list", {})
            await expect(stage.view.get_by_role("heading")).to_have_text("2 to buy")
            await stage.view.get_by_label("Bread").click()
            await expect(stage.view.get_by_role("heading")).to_have_text("1 to buy")
            await stage.view.get_by_label("Milk").click()
            await expect(stage.view.get_by_role("heading")).to_have_text("Everything is bought")
            await expect(stage.view.locator(":root")).to_have_attribute("data-theme", "dark")
            assert stage.problems == []
    return len(html)


async def test_the_view_is_type_checked_and_works(project: Path, browser: Browser) -> None:
    assert compile_errors(project) == ""
    with_react = await show(project, browser)

    (mapped,) = (json.loads(code) for language, name, code in blocks(PAGE) if (language, name) == ("json", ""))
    config = json.loads((project / "tsconfig.json").read_text(encoding="utf-8"))
    config["compilerOptions"] |= mapped["compilerOptions"]
    (project / "tsconfig.json").write_text(json.dumps(config), encoding="utf-8")
    assert compile_errors(project) == ""
    assert await show(project, browser) < with_react / 8


def test_the_component_of_a_host_page_is_type_checked(tmp_path: Path) -> None:
    (code,) = (code for _, name, code in blocks(HOST_PAGE) if name == "src/Views.tsx")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "Views.tsx").write_text(code, encoding="utf-8")
    (tmp_path / "node_modules").symlink_to(ROOT / "node_modules", target_is_directory=True)
    assert main(["types", "--host", str(tmp_path / "src" / "fanlight")]) == 0
    (config,) = (json.loads(code) for _, name, code in blocks(PAGE) if name == "tsconfig.json")
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": config["compilerOptions"]}))
    assert compile_errors(tmp_path) == ""
