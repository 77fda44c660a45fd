"""The skills for coding agents: what they say about themselves, their commands and their code."""

import contextlib
import importlib
import io
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from playwright.async_api import Browser

from fanlight.check import check
from fanlight.cli import main
from fanlight.testing.stage import Stage
from support.docs import ROOT, blocks, write_files
from support.wire import serving_pages

pytestmark = pytest.mark.anyio

SKILLS = ROOT / "skills"
NAMES = sorted(path.parent.name for path in SKILLS.glob("*/SKILL.md"))


def _skill(name: str) -> Path:
    return SKILLS / name / "SKILL.md"


@pytest.mark.parametrize("name", NAMES)
def test_the_front_matter_names_the_folder_and_says_when_to_use_the_skill(name: str) -> None:
    text = _skill(name).read_text(encoding="utf-8")
    _, front, body = text.split("---\n", 2)
    matter = yaml.safe_load(front)
    assert {*matter} == {"name", "description"}
    assert matter["name"] == name
    assert "Use when" in matter["description"]
    assert len(matter["description"]) <= 1024
    assert body.count("\n") <= 120
    assert f"[{name}]({name}/SKILL.md)" in (SKILLS / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_every_page_that_a_skill_names_exists(name: str) -> None:
    named = re.findall(r"`(docs/[^`]+\.md)`", _skill(name).read_text(encoding="utf-8"))
    assert [page for page in named if not (ROOT / page).is_file()] == []


def _commands() -> Iterator[tuple[str, str]]:
    for name in NAMES:
        text = _skill(name).read_text(encoding="utf-8")
        lines = [line for language, _, code in blocks(_skill(name)) if language == "sh" for line in code.splitlines()]
        for line in [*lines, *re.findall(r"`(fanlight [^`]+)`", text)]:
            if line.startswith("fanlight ") and " " in line.removeprefix("fanlight "):
                yield name, line


@pytest.mark.parametrize(("name", "line"), list(_commands()))
def test_the_command_line_knows_every_option_of_a_skill(name: str, line: str) -> None:
    """Add an unknown option: the command then names only this one, before it does anything."""
    words = shlex.split(line)[1:]
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.suppress(SystemExit):
        main([*words, "--no-such-option"])
    (message,) = re.findall(r"unrecognized arguments: (.*)", errors.getvalue()) or [errors.getvalue()]
    assert message.split() == ["--no-such-option"]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The server of the skill that adds a View, imported as `server`."""
    write_files(_skill("add-a-view"), tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("server").server
    del sys.modules["server"]


async def test_the_server_with_an_added_view_conforms(server: Any, browser: Browser) -> None:
    report = await check(server, browser=browser)
    assert [finding.key for finding in report.open if finding.level != "note"] == []


async def test_the_test_of_the_skill_passes(server: Any, browser: Browser) -> None:
    ((_, _, code),) = [block for block in blocks(_skill("test-an-app")) if block[1] == "test_app.py"]
    namespace: dict[str, Any] = {}
    exec(code, namespace)

    async with Stage({"server": server}, browser=browser) as stage:

        def open_view(server: Any, tool: str, **arguments: Any) -> Any:
            return stage.open("server", tool, arguments)

        await namespace["test_the_forecast_shows_the_city"](open_view)


@pytest.mark.process
async def test_the_host_of_the_skill_shows_a_view(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = write_files(_skill("host-apps"), tmp_path)
    code = files["app.py"].read_text(encoding="utf-8")
    clock = ROOT / "examples" / "clock" / "server.py"
    namespace: dict[str, Any] = {"__name__": "app"}
    exec(code.replace("python server.py", f"{sys.executable} {clock}"), namespace)
    with serving_pages(namespace["app"]) as address:
        async with httpx.AsyncClient(timeout=30) as client:
            page = await client.get(address)
    assert re.search(r'<mcp-app view="[^"]+" token="[^"]+" src="/apps">', page.text)
