"""The programs of the how-to pages about agent frameworks, in Chromium with a scripted model."""

import json
import os
import runpy
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from playwright.async_api import Page, expect
from starlette.types import ASGIApp, Receive, Scope, Send

import fanlight
from support.browser import problems_of
from support.docs import ROOT, write_files
from support.openai_server import ToolCall, openai_server
from support.wire import serving_pages

pytestmark = pytest.mark.anyio

HOW_TO = ROOT / "docs" / "how-to"
NOTE = "The lighthouse keeper counts the ships of the night."


class Gate:
    """Lets a few pieces of the arguments pass, and the others when it is opened."""

    def __init__(self) -> None:
        self.opened = anyio.Event()
        self._passed = 0

    async def __call__(self) -> None:
        self._passed += 1
        if self._passed > 4:
            await self.opened.wait()


def waits_for_servers(program: dict[str, Any]) -> ASGIApp:
    """Return the program, whose page loads as soon as its server runs: the script needs the tools in the first turn."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope.get("path") == "/":
            await program["host"].servers["notes"].ready()
        await program["app"](scope, receive, send)

    return app


@pytest.mark.parametrize("framework", ["pydantic-ai", "openai-agents", "langchain", "ag-ui"])
async def test_the_page_shows_a_view_while_the_model_writes_its_arguments(
    framework: str, page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(HOW_TO / "use-an-agent-framework.md", tmp_path)
    program = write_files(HOW_TO / f"use-{framework}.md", tmp_path)["app.py"]
    assert len(program.read_text(encoding="utf-8").splitlines()) < 40
    monkeypatch.chdir(tmp_path)
    # "python server.py" means the Python of this test, and it uses its Fanlight.
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    monkeypatch.setenv("PYTHONPATH", str(Path(fanlight.__file__).parents[1]))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
    gate, problems = Gate(), problems_of(page)
    with openai_server(ToolCall("notes__write_note", {"text": NOTE}, gate), "There you are.", "Thank you!") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        with serving_pages(waits_for_servers(runpy.run_path(str(program)))) as address:
            await page.goto(address)
            await page.get_by_label("Message").fill("A note, please.")
            await page.get_by_role("button", name="Send").click()
            view = page.locator("mcp-app").frame_locator("iframe").frame_locator("iframe")
            # The model has written half of the arguments, and waits.
            await expect(view.get_by_role("note")).to_have_text("The lighthouse")
            gate.opened.set()
            await expect(view.get_by_role("note")).to_have_text(NOTE)
            await expect(page.locator("p.answer")).to_have_text("There you are.")
            await view.get_by_role("button", name="I like it").click()
            await expect(view.get_by_role("button")).to_be_disabled()
            await page.get_by_label("Message").fill("And?")
            await page.get_by_role("button", name="Send").click()
            await expect(page.locator("p.answer").last).to_have_text("Thank you!")
        sent = json.dumps(server.requests[-1])
        assert "The user sees the note." in sent
        assert "The user likes the note." in sent
        assert "The user did not write it" in sent
    assert problems == []
