"""The programs of the how-to pages about agent frameworks, in Chromium with a scripted model."""

import json
import os
import re
import runpy
import sys
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from playwright.async_api import Page, expect
from starlette.types import ASGIApp, Receive, Scope, Send
from websockets.asyncio.client import connect
from websockets.typing import Origin

import fanlight
from support.browser import problems_of
from support.docs import ROOT, write_files
from support.openai_server import OpenAIServer, ToolCall, openai_server
from support.wire import serving_pages

pytestmark = pytest.mark.anyio

HOW_TO = ROOT / "docs" / "how-to"
FRAMEWORKS = ["pydantic-ai", "openai-agents", "langchain", "ag-ui"]
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


def prepare(framework: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write the files of the program of a framework, and return the program."""
    write_files(HOW_TO / "use-an-agent-framework.md", folder)
    program = write_files(HOW_TO / f"use-{framework}.md", folder)["app.py"]
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "users", raising=False)
    # "python server.py" means the Python of this test, and it uses its Fanlight.
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    monkeypatch.setenv("PYTHONPATH", str(Path(fanlight.__file__).parents[1]))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
    return program


def body_of(framework: str, text: str) -> str:
    """Return what the page of a framework sends."""
    if framework != "ag-ui":
        return text
    message = {"id": "1", "role": "user", "content": text}
    run = {"threadId": "c1", "runId": "1", "messages": [message], "tools": [], "context": [], "state": {}}
    return json.dumps({**run, "forwardedProps": {}})


async def attack(framework: str, address: str, model: OpenAIServer, page: Page) -> None:
    """Play another visitor, who has stolen the id and the token of the View that a page shows."""
    path = "/run" if framework == "ag-ui" else "/say"
    async with httpx2.AsyncClient(base_url=address, timeout=60) as mallory:
        assert (await mallory.post(path, content=body_of(framework, "Who is there?"))).status_code == 401
        # A page of evil.example whose name was made to resolve to this machine.
        assert (await mallory.get("/", headers={"host": "evil.example"})).status_code == 400
        cookie = (await mallory.get("/")).headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=lax" in cookie  # so that pages of other sites cannot write in the user's name
        answer = await mallory.post(path, content=body_of(framework, "What did the others write?"))
        assert "Hello." in "".join(re.findall(r'"(?:text|delta)": ?"(.*?)"', answer.text))
        sent = json.dumps(model.requests[-1])
        assert "What did the others write?" in sent
        assert "A note, please." not in sent
        assert NOTE not in sent
        stolen = await page.locator("mcp-app").evaluate("app => ({ view: app.view, token: app.token })")
        (own,) = [each["value"] for each in await page.context.cookies() if each.get("name") == "visitor"]
        for visitor, expected in ((mallory.cookies["visitor"], "error"), (own, "show")):
            headers = {"Cookie": f"visitor={visitor}"}
            url = f"{address.replace('http', 'ws')}/apps/socket"
            async with connect(url, origin=Origin(address), additional_headers=headers) as socket:
                await socket.send(json.dumps({"type": "open", **stolen}))
                with anyio.fail_after(60):
                    while (frame := json.loads(await socket.recv()))["type"] not in ("show", "error"):
                        pass
                assert frame["type"] == expected


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_the_page_shows_a_view_while_the_model_writes_and_nobody_else_gets_it(
    framework: str, page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = prepare(framework, tmp_path, monkeypatch)
    assert len(program.read_text(encoding="utf-8").splitlines()) < 40
    gate, problems = Gate(), problems_of(page)
    with openai_server(
        ToolCall("notes__write_note", {"text": NOTE}, gate), "There you are.", "Thank you!", "Hello."
    ) as server:
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
            await attack(framework, address, server, page)
        sent = json.dumps(server.requests[-2])
        assert "The user sees the note." in sent
        assert "The user likes the note." in sent
        assert "The user did not write it" in sent
    assert problems == []
    if framework in ("pydantic-ai", "ag-ui"):  # the others have the page of the first
        await page.route(re.compile("/(say|run)$"), lambda route: route.fulfill(status=503, body="The host stops."))
        await page.get_by_label("Message").fill("Anybody?")
        await page.get_by_role("button", name="Send").click()
        await expect(page.locator("#chat > [role=alert]")).to_have_text(
            "There is no complete answer: 503 The host stops."
        )
