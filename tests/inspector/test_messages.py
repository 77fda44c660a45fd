"""The messages panel: filter, export and replay."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from fanlight.dev.targets import servers
from fanlight.inspector.panels.recording import Recording, RecordingError
from support.inspecting import call, in_process, mirror, opened, running, view

pytestmark = pytest.mark.anyio


async def test_messages_of_view_and_server_can_be_filtered_and_exported(browser: Browser, tmp_path: Path) -> None:
    with running(servers([mirror(tmp_path)]), policy="allow") as (inspector, address):
        async with opened(browser, inspector, address) as (page, problems):
            panel = page.get_by_role("tabpanel")
            await call(page, "mirror")
            await view(page).locator("#more").click()
            await expect(view(page).locator("#answer")).to_have_text("hey!")
            await expect(panel).to_contain_text("response to tools/call")
            assert await panel.locator(".arrow.server").count() == 0
            await panel.get_by_label("server").check()
            await expect(panel.locator(".arrow.server").first).to_be_visible()
            await expect(panel).to_contain_text("response to tools/list")
            await panel.get_by_label("Filter messages").fill("hey!")
            await expect(panel.locator("li")).to_have_count(2)  # the View's answer, and the server's
            await panel.locator("summary").first.click()
            await expect(panel.locator("pre")).to_contain_text('"word": "hey!"')
            await panel.get_by_label("Filter messages").fill("nothing has this in it")
            await expect(panel).to_contain_text("No message matches the filter.")
            await panel.get_by_label("Filter messages").fill("")
            async with page.expect_download() as waiting:
                await panel.get_by_role("button", name="Export").click()
            saved = await (await waiting.value).path()
            lines = [json.loads(line) for line in saved.read_text("utf-8").splitlines()]
            assert {line["from"] for line in lines} == {"view", "host", "client", "server"}
            assert [line["at"] for line in lines] == sorted(line["at"] for line in lines)
            assert problems == []


async def test_an_exported_conversation_can_be_replayed(browser: Browser, tmp_path: Path) -> None:
    path = mirror(tmp_path)
    with running(in_process(path), policy="allow") as (inspector, address):
        async with opened(browser, inspector, address) as (page, problems):
            await page.get_by_role("navigation").get_by_role("button", name="mirror").click()
            recording: list[tuple[str, dict[str, Any]]] = [
                ("host", {"method": "ui/notifications/tool-input", "params": {"arguments": {"words": ["recorded"]}}}),
                (
                    "host",
                    {"method": "ui/notifications/tool-result", "params": {"structuredContent": {"words": ["then"]}}},
                ),
                ("view", {"id": 1, "method": "ui/initialize", "params": {}}),
                ("view", {"method": "ui/notifications/initialized"}),
                ("view", {"id": 2, "method": "tools/call", "params": {"name": "more", "arguments": {"word": "hey"}}}),
                ("host", {"id": 2, "result": {"content": [], "structuredContent": {"word": "from the recording"}}}),
            ]
            lines = "\n".join(
                json.dumps({"at": 0, "from": source, "message": {"jsonrpc": "2.0", **message}})
                for source, message in recording
            )
            file: Any = {"name": "saved.jsonl", "mimeType": "application/jsonl", "buffer": lines.encode()}
            await page.locator("input[type=file]").set_input_files(file)
            received = view(page).locator("#received")
            await expect(received).to_contain_text('input {"words":["recorded"]}')
            await expect(received).to_contain_text('result {"words":["then"]}')
            await expect(page.get_by_role("article")).to_contain_text("replay")
            await view(page).locator("#more").click()
            await expect(view(page).locator("#answer")).to_have_text("from the recording")
            broken: Any = {**file, "buffer": b"no json"}
            await page.locator("input[type=file]").set_input_files(broken)
            await expect(page.get_by_role("article").first).to_contain_text("Line 1 is not JSON")
            assert problems == []


def recorded(*entries: tuple[str, dict[str, Any]]) -> Recording:
    return Recording(
        "\n".join(json.dumps({"at": 0, "from": source, "message": message}) for source, message in entries)
    )


def test_a_recording_responds_in_the_recorded_order() -> None:
    ask = {"method": "tools/call", "params": {"name": "more", "arguments": {}}}
    recording = recorded(
        ("host", {"method": "ui/notifications/tool-input", "params": {"arguments": {"a": 1}}}),
        ("host", {"method": "ui/notifications/tool-result", "params": {"content": []}}),
        ("view", {"id": 1, **ask}),
        ("host", {"id": 1, "result": {"n": 1}}),
        ("view", {"id": 2, **ask}),
        ("host", {"id": 2, "error": {"code": -1, "message": "no"}}),
        ("server", {"id": 9, "result": {"not": "played"}}),
    )
    assert recording.arguments == {"a": 1}
    assert recording.answer("tools/call", {"name": "first"}) == (None, {"content": []})
    assert recording.answer("tools/call", {"name": "more"}) == (None, {"n": 1})
    assert recording.answer("tools/call", {"name": "more"}) == ({"code": -1, "message": "no"}, None)
    assert recording.answer("tools/call", {"name": "more"}) == ({"code": -1, "message": "no"}, None)
    assert recording.answer("tools/call", {"name": "other"}) == (None, None)
    assert recording.view_methods == ("tools/call", "tools/call")


def test_a_recording_without_a_result_gives_the_reason() -> None:
    cancelled = {"method": "ui/notifications/tool-cancelled", "params": {"reason": "bored"}}
    assert recorded(("host", cancelled)).answer("tools/call", {}) == ({"code": -32000, "message": "bored"}, None)
    assert recorded(("view", {})).answer("tools/call", {})[0] == {"code": -32000, "message": "No result was recorded."}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "The recording is empty"),
        ("{", "Line 1 is not JSON"),
        ('\n{"from": "me", "message": {}}', "Line 2 is not a message"),
        ('{"from": "view"}', "Line 1 is not a message"),
    ],
)
def test_an_invalid_recording_is_rejected(text: str, reason: str) -> None:
    with pytest.raises(RecordingError, match=reason):
        Recording(text)
