"""`<mcp-app>` in pages with React, Vue and Svelte: the components of the how-to, in Chromium."""

import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from playwright.async_api import Page, expect

import fanlight
from support.browser import problems_of
from support.docs import ROOT, blocks, write_files
from support.node import node, run_esbuild
from support.wire import serving_pages

pytestmark = [pytest.mark.anyio, pytest.mark.process]

HOW_TO = ROOT / "docs" / "how-to"
COMPILE = Path(__file__).with_name("front_ends") / "compile.js"
MOUNT = {
    "src/Chat.jsx": "",
    "src/Chat.vue": 'import { createApp } from "vue"; import Chat from "COMPILED"; createApp(Chat).mount("#root");',
    "src/Chat.svelte": 'import { mount } from "svelte"; import Chat from "COMPILED"; mount(Chat, { target: root });',
}
"""The components, with what mounts them if they do not do it themselves."""


FILES = {name: code for _, name, code in blocks(HOW_TO / "use-mcp-app-in-a-framework.md") if name}
(ESBUILD,) = re.findall(r"^npx esbuild (src/.*)$", (HOW_TO / "use-mcp-app-in-a-framework.md").read_text("utf-8"), re.M)
"""The arguments with which the page builds the component of React."""


def built(component: str, folder: Path) -> str:
    """Build the script of the page, as a user's own tools would."""
    source = FILES[component]
    if component.endswith(".jsx"):
        entry, *of_page, output = shlex.split(ESBUILD)
        assert (entry, output) == (component, "--outfile=page.js")
        return run_esbuild(str(folder / entry), *of_page)
    compiled = folder / "chat.js"
    words = [node(), str(COMPILE), component.rpartition(".")[2]]
    code = subprocess.run(words, cwd=ROOT, input=source, capture_output=True, text=True, check=True, timeout=60).stdout
    compiled.write_text(code, encoding="utf-8")
    options = ("--bundle", "--format=iife", "--conditions=browser", '--define:process.env.NODE_ENV="production"')
    return run_esbuild(*options, input=MOUNT[component].replace("COMPILED", str(compiled)))


@pytest.mark.parametrize("component", MOUNT)
async def test_a_view_is_shown_reports_its_context_and_comes_back(
    component: str, page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(HOW_TO / "use-an-agent-framework.md", tmp_path)
    write_files(HOW_TO / "use-mcp-app-in-a-framework.md", tmp_path)
    (tmp_path / "page.js").write_text(built(component, tmp_path), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "users", raising=False)
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    monkeypatch.setenv("PYTHONPATH", str(Path(fanlight.__file__).parents[1]))
    program = runpy.run_path("app.py")
    problems = problems_of(page)

    with serving_pages(program["app"]) as address:
        await page.goto(address)
        view = page.locator("mcp-app").frame_locator("iframe").frame_locator("iframe")
        await expect(view.get_by_role("note")).to_have_text("Hello!")
        await view.get_by_role("button", name="I like it").click()
        await expect(page.locator("output")).to_have_text("The user likes the note.")
        await page.get_by_role("button", name="Hide").click()
        await expect(page.locator("mcp-app")).to_have_count(0)
        await page.get_by_role("button", name="Show").click()
        await expect(view.get_by_role("note")).to_have_text("Hello!")
        async with httpx2.AsyncClient(base_url=address) as stranger:
            assert (await stranger.get("/views")).status_code == 401
            await stranger.get("/")
            (own,) = (await stranger.get("/views")).json()
            assert own["view"] != await page.locator("mcp-app").get_attribute("view")
    assert problems == []
