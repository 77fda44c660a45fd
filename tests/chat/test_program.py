"""The program behind the page: access, files, the store, and a process that is killed."""

import json
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import anyio
import httpx2
import pytest
from playwright.async_api import Browser, expect
from websockets.asyncio.client import connect

from fanlight.chat.conversations import Conversations
from fanlight.chat.program import ChatLimits, ChatProgram
from fanlight.protocol.errors import LocalError
from support.browser import PATIENCE, problems_of
from support.chatting import ChatPage, answered, chatting, served
from support.ledger import Record, ledger
from support.openai_server import Hold, Text, ToolCall, openai_server

pytestmark = pytest.mark.anyio
LEDGER = Path(__file__).parents[1] / "support" / "ledger.py"


def routes(program: ChatProgram) -> list[tuple[str, str]]:
    """Return the method and path of each route."""
    return [
        (method, route.path.replace("{name}", "chat.js").replace("{id}", "x"))
        for route in program._routes()
        for method in sorted(route.methods or ())
        if method != "HEAD"
    ]


async def test_every_route_needs_the_cookie_and_every_change_our_own_origin(tmp_path: Path) -> None:
    with chatting({}, tmp_path / "chat.db", model="scripted") as chat:
        found = routes(chat.program)
        assert len(found) > 12
        async with httpx2.AsyncClient(base_url=chat.address) as stranger:
            for method, path in found:
                assert (await stranger.request(method, path)).status_code == 403, path
                answer = await stranger.request(method, path, headers={"origin": chat.address})
                assert answer.text == "Open the address that fanlight chat printed: it contains a token."
        async with chat.client() as http:
            for method, path in found:
                if method == "GET":
                    continue
                for origin in ("null", "http://evil.example", f"http://sandbox.{chat.address[7:]}"):
                    answer = await http.request(method, path, headers={"origin": origin})
                    assert (answer.status_code, answer.text) == (403, "This request came from another page."), path
                named = {"host": "evil.example", "origin": "http://evil.example"}
                assert (await http.request(method, path, headers=named)).status_code == 421, path


async def test_the_page_runs_only_its_own_scripts_and_creates_no_html(tmp_path: Path) -> None:
    with chatting({}, tmp_path / "chat.db", model="scripted") as chat:
        async with chat.client() as http:
            policy = (await http.get("/")).headers["content-security-policy"].split("; ")
            assert {"default-src 'none'", "script-src 'self'", "img-src 'self' data:", "connect-src 'self'"} <= set(
                policy
            )
            assert {"require-trusted-types-for 'script'", "frame-ancestors 'none'", "base-uri 'none'"} <= set(policy)


async def test_no_response_of_the_api_is_taken_for_another_type(tmp_path: Path) -> None:
    with chatting({}, tmp_path / "chat.db", model="scripted") as chat:
        async with chat.client() as http:
            for method, path in routes(chat.program):
                if path == "/":
                    continue
                async with http.stream(method, path) as answer:
                    assert answer.headers["x-content-type-options"] == "nosniff", path


async def test_an_attached_file_is_never_a_page_of_the_program(tmp_path: Path) -> None:
    with chatting({}, tmp_path / "chat.db", model="scripted", limits=ChatLimits(file_bytes=100)) as chat:
        async with chat.client() as http:
            script = b"<script>alert(1)</script>"
            for type in ("text/html", "image/svg+xml", "application/javascript"):
                sent = await http.post("/api/files?name=x", content=script, headers={"content-type": type})
                headers = (await http.get(f"/files/{sent.json()['id']}")).headers
                assert headers["content-type"].startswith("text/plain")
                assert headers["content-disposition"].startswith("attachment")
                assert headers["content-security-policy"] == "default-src 'none'; sandbox"
                assert headers["x-content-type-options"] == "nosniff"
            large = await http.post("/api/files?name=large", content=b"x" * 101, headers={"content-type": "text/plain"})
            assert large.status_code == 413
            assert large.json()["error"] == "large is larger than 0.0001 MB. Attach a smaller file."


async def test_a_view_opens_only_for_a_page_that_has_the_cookie(tmp_path: Path) -> None:
    call = ToolCall("ledger__show", {"text": "x"})
    with (
        openai_server(call, "Shown.") as model,
        chatting(served(ledger=ledger(Record(tmp_path))), tmp_path / "chat.db", base_url=model.url) as chat,
    ):
        async with chat.client() as http:
            sent = (await http.post("/api/send", json={"text": "Show it"})).json()
            await answered(http, sent["conversation"])
            found = (await http.get("/api/conversation", params={"conversation": sent["conversation"]})).json()
            (view,) = [view["view"] for block in found["turns"][0]["blocks"] for view in block.get("views", ())]
            cookie = "; ".join(f"{name}={value}" for name, value in http.cookies.items())
            for header, opens in {"": False, "fanlight-chat=wrong": False, cookie: True}.items():
                body = {"conversation": sent["conversation"], "view": view}
                token = (await http.post("/api/view", json=body)).json()["token"]
                address = chat.address.replace("http", "ws")
                headers = {"origin": chat.address, **({"cookie": header} if header else {})}
                async with connect(f"{address}/apps/socket", additional_headers=headers) as socket:
                    await socket.send(json.dumps({"type": "open", "view": view, "token": token, "context": {}}))
                    with anyio.fail_after(PATIENCE):
                        frames = [json.loads(await socket.recv())]
                        while frames[-1]["type"] not in ("show", "error"):
                            frames.append(json.loads(await socket.recv()))
                assert (frames[-1]["type"] == "show") is opens, frames


async def test_wrong_requests_are_rejected_with_a_reason(tmp_path: Path) -> None:
    with chatting({}, tmp_path / "chat.db", model="scripted") as chat:
        async with chat.client() as http:
            for path, body, reason in [
                ("send", {"text": " "}, "The message is empty"),
                ("send", {"text": "x", "conversation": "none"}, "There is no such conversation"),
                ("send", {"text": "x", "files": ["none"]}, "An attached file is no longer there"),
                ("send", {}, "text is None, expected a string"),
                ("view", {"conversation": "none", "view": "none"}, "has no open View"),
                ("server", {"server": "none"}, "There is no server 'none'"),
                ("settings", {"model": "x", "base_url": "", "instructions": ""}, "'x' is not a model"),
            ]:
                answer = await http.post(f"/api/{path}", json=body)
                assert reason in answer.json()["error"], path
            assert (await http.get("/api/export?conversation=none")).status_code == 404


async def test_a_second_program_with_the_same_store_is_refused(tmp_path: Path) -> None:
    first = Conversations(tmp_path / "chat.db")
    with pytest.raises(LocalError, match=r"Another fanlight chat uses .*chat\.db\. Stop it, or choose another file"):
        Conversations(tmp_path / "chat.db")
    modes = {file.name: file.stat().st_mode & 0o077 for file in tmp_path.iterdir()}
    assert {"chat.db", "chat.db.lock", "chat.db.lock-journal"} <= modes.keys()
    assert set(modes.values()) == {0}
    first.close()
    Conversations(tmp_path / "chat.db").close()
    with pytest.raises(LocalError, match="cannot be used"):
        Conversations(Path("/dev/null/chat.db"))


@contextmanager
def process(folder: Path, model: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Start the program, and return it with the address that it prints."""
    command = [sys.executable, "-m", "fanlight.cli", "chat", "--no-open", "--port", "0", "--model", "model"]
    servers = {"ledger": {"command": sys.executable, "args": [str(LEDGER), str(folder)]}}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    options = ["--base-url", model, "--store", str(folder / "chat.db"), str(folder / "mcp.json")]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True) as started:
        try:
            assert started.stdout is not None
            line = next(line for line in started.stdout if "fanlight chat: " in line)
            yield started, line.partition("fanlight chat: ")[2].strip()
        finally:
            started.kill()


async def until_stored(store: Path, text: str) -> None:
    """Wait until a turn is stored that contains a text."""
    with anyio.fail_after(PATIENCE):
        while True:
            with closing(sqlite3.connect(store)) as database:
                if any(text in data for (data,) in database.execute("select data from chat_turns")):
                    return
            await anyio.sleep(0.05)


@pytest.mark.process
async def test_a_conversation_and_its_views_survive_a_kill_in_the_middle_of_a_turn(
    tmp_path: Path, browser: Browser
) -> None:
    steps = (ToolCall("ledger__show", {"text": "kept"}), Text("Half of an answer that is never complete.", Hold(5)))
    with openai_server(*steps, "We go on.") as model:
        with process(tmp_path, model.url) as (first, address):
            shown = await browser.new_page(viewport={"width": 1200, "height": 1300})
            await shown.goto(address)
            page = ChatPage(shown, problems_of(shown))
            await page.say("Show it, and tell me more")
            await expect(page.view().locator("#shown")).to_have_text(re.compile("input result$"))
            await expect(page.last.locator(".markdown")).to_contain_text("Half of an answer that is")
            await until_stored(tmp_path / "chat.db", "Half of an answer that is")
            first.kill()
            await expect(shown.get_by_role("alert").filter(has_text="fanlight chat does not respond")).to_be_visible()
            await shown.close()
        with process(tmp_path, model.url) as (_, address):
            shown = await browser.new_page(viewport={"width": 1200, "height": 1300})
            await shown.goto(address)
            page = ChatPage(shown, problems_of(shown))
            await page.sidebar.get_by_role("link", name="Show it").click()
            await expect(page.view().locator("#shown")).to_have_text(re.compile("input result$"))
            await expect(page.last.locator(".bubble")).to_have_text("Show it, and tell me more")
            await expect(page.last.locator(".markdown")).to_contain_text("Half of an answer that is")
            await expect(page.last.get_by_role("note")).to_contain_text("ended before this answer was complete")
            await page.ask("Go on")
            await expect(page.last.locator(".markdown")).to_have_text("We go on.")
            roles = [message["role"] for message in model.requests[-1]["messages"]]
            assert roles[:4] == ["system", "user", "assistant", "tool"]
            assert roles[-1] == "user"
            await shown.close()
