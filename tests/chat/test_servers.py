"""Servers of a chat: signing in with OAuth, failures, and tools that are switched off."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp.server import MCPServer
from mcp_types import ToolAnnotations
from playwright.async_api import Browser, expect

from fanlight.dev.targets import Served
from fanlight.host.upstream.config import parse_target
from support.chatting import chatting, served
from support.ledger import Record, ledger
from support.oauth_server import protected_server
from support.openai_server import ToolCall, openai_server
from support.wire import serving

pytestmark = pytest.mark.anyio


async def test_a_server_that_wants_oauth_offers_a_sign_in_and_is_used_after_it(
    tmp_path: Path, browser: Browser
) -> None:
    call = ToolCall("crm__whoami", {})
    with (
        openai_server(call, "You are alice.") as model,
        protected_server() as protected,
        serving(ledger(Record(tmp_path)).streamable_http_app()) as plain,
        chatting(served(crm=protected.url, ledger=f"{plain}/mcp"), tmp_path / "chat.db", base_url=model.url) as chat,
    ):
        async with chat.page(browser) as page:
            notice = page.page.get_by_role("status").filter(has_text="crm wants you to sign in")
            async with page.page.context.expect_page() as opened:
                await notice.get_by_role("link", name="Sign in").click()
            login = await opened.value
            await login.wait_for_url(re.compile("/login"))
            await login.goto(f"{login.url}&as=alice")
            await expect(login.locator("body")).to_contain_text("signed in")
            await expect(notice).to_have_count(0)
            await page.ask("Who am I?")
            assert model.tools(0) == [
                "crm__whoami",
                "crm__delete",
                *(f"ledger__{name}" for name in ("show", "write", "remove", "count")),
            ]
            assert model.requests[1]["messages"][-1]["content"] == "alice"
            assert page.problems == []


async def test_a_server_that_cannot_be_reached_is_shown_with_the_reason_and_does_not_stop_the_others(
    tmp_path: Path, browser: Browser
) -> None:
    with (
        openai_server("Hello.") as model,
        chatting(
            served(gone="http://127.0.0.1:9/mcp", ledger=ledger(Record(tmp_path))),
            tmp_path / "chat.db",
            base_url=model.url,
        ) as chat,
    ):
        async with chat.page(browser) as page:
            await page.button("Settings").click()
            row = page.page.get_by_role("dialog").get_by_role("listitem").filter(has_text="gone").first
            await expect(row).to_contain_text("127.0.0.1:9")
            await expect(row.get_by_role("button", name="Reconnect")).to_be_visible()
            await page.button("Close").click()
            await page.ask("Hello?")
            assert "ledger__show" in model.tools(0)


async def test_the_user_is_asked_before_a_tool_that_may_destroy_something(tmp_path: Path, browser: Browser) -> None:
    server: MCPServer[Any] = MCPServer("files")
    erased: list[str] = []

    @server.tool(annotations=ToolAnnotations(destructive_hint=True))
    def erase(name: str) -> str:
        "Erase a file."
        erased.append(name)
        return f"erased {name}"

    calls = [ToolCall("files__erase", {"name": name}) for name in ("a", "b", "c")]
    steps = (calls[0], "No.", calls[1], "Yes.", calls[2], "Again.")
    with (
        openai_server(*steps) as model,
        chatting(served(files=server), tmp_path / "chat.db", base_url=model.url) as chat,
    ):
        async with chat.page(browser) as page:
            await page.say("Erase a")
            question = page.last.get_by_role("group", name="Allow this call?")
            await expect(question).to_contain_text('"name": "a"')
            assert erased == []
            await question.get_by_role("button", name="Don’t allow").press("Enter")
            await expect(page.last.locator(".call summary")).to_be_focused()
            await page.finished()
            assert erased == []
            await expect(page.last.locator(".call")).to_have_attribute("data-state", "denied")
            await expect(page.last.locator(".call summary")).to_contain_text("You did not allow this")
            assert "did not allow" in model.requests[1]["messages"][-1]["content"]
            await page.say("Erase b")
            await question.get_by_role("button", name="Always allow").click()
            await page.finished()
            await page.ask("Erase c")
            assert erased == ["b", "c"]
            await page.button("Settings").click()
            await page.page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
            await expect(page.page.get_by_role("dialog").get_by_role("button", name="Revoke")).to_have_count(0)


@pytest.mark.process
async def test_a_server_that_does_not_start_is_reported_in_the_terminal_and_above_the_conversation(
    tmp_path: Path, browser: Browser, caplog: pytest.LogCaptureFixture
) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("raise SystemExit('no database')")
    target = Served(parse_target([sys.executable, str(broken)]))
    with chatting({"broken": target}, tmp_path / "chat.db", model="scripted") as chat:
        async with chat.page(browser) as page:
            banner = page.page.get_by_role("status").filter(has_text="broken could not be connected.")
            await expect(banner).to_contain_text("exited with code 1. It last wrote: no database")
            await expect(banner.get_by_role("button", name="Reconnect")).to_be_visible()
            await page.button("Settings").click()
            row = page.page.get_by_role("dialog").get_by_role("listitem").filter(has_text="broken").first
            await expect(row).to_contain_text("no database")
            await expect(row).not_to_contain_text("connection lost")
    (line,) = {record.getMessage() for record in caplog.records if record.name == "fanlight.chat.program"}
    assert line.startswith("  broken is not connected: ")
    assert "no database" in line
    assert line.endswith(" Fix this, then reconnect it in the settings of the page.")
    assert "\n" not in line
