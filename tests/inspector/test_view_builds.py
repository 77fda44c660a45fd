"""`fanlight dev` builds Views that need Node: real builds with Vite, their errors, and what happens without Node."""

import json
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from playwright.async_api import Browser, expect

from fanlight.dev.events import Events
from fanlight.dev.source_lines import Lines
from fanlight.dev.targets import servers
from fanlight.inspector import view_builds
from fanlight.inspector.view_builds import ViewBuilds, _variables
from fanlight.protocol.source_lines import BUILD_PREFIX, VARIABLE
from support.inspecting import call, expect_after_reload, opened, running, view
from support.new_projects import create_project, link_packages
from support.node import node, node_module

CONFIG = """
import { viteSingleFile } from "vite-plugin-singlefile";

export default {
  root: "view",
  plugins: [viteSingleFile()],
  build: { outDir: "../dist", emptyOutDir: true },
};
"""
PAGE = """<!doctype html>
<html lang="en">
  <head><title>Clock</title></head>
  <body><main></main><script type="module" src="/main.js"></script></body>
</html>
"""
TIMEOUT = 60


@pytest.fixture(autouse=True)
def _node_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(node()).parent}{os.pathsep}{os.environ['PATH']}")


def make_project(folder: Path, files: dict[str, str], *, installed: bool = True) -> Path:
    package = {"type": "module", "scripts": {"build": "vite build"}, "devDependencies": {"vite": "8"}}
    content = {
        "package.json": json.dumps(package),
        "vite.config.js": CONFIG,
        "view/index.html": PAGE,
        **files,
    }
    for name, text in content.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    if installed:
        (folder / "node_modules").symlink_to(node_module("vite").parent, target_is_directory=True)
    return folder


class Recorded(Events):
    """Events whose states of builds a test waits for."""

    def __init__(self) -> None:
        super().__init__()
        self.builds: list[dict[str, Any]] = []
        self._news = anyio.Event()

    def publish(self, kind: str, data: dict[str, Any]) -> None:
        assert kind == "build"
        self.builds.append(data)
        self._news.set()
        self._news = anyio.Event()

    async def state(self, *states: str) -> dict[str, Any]:
        """Return the next build in one of these states, and forget those before."""
        with anyio.fail_after(TIMEOUT):
            while True:
                while self.builds:
                    build = self.builds.pop(0)
                    if build["state"] in states:
                        return build
                await self._news.wait()


@asynccontextmanager
async def building(project: Path, *, enabled: bool = True) -> AsyncIterator[tuple[ViewBuilds, Recorded]]:
    """Run the build of a project whose document a server in the same folder has reported."""
    lines, events = Lines(), Recorded()
    report = {"document": str(project / "dist" / "index.html"), "project": str(project), "server": str(project)}
    (Path(lines.environment[VARIABLE]) / f"{BUILD_PREFIX}1.json").write_text(json.dumps(report), encoding="utf-8")
    builds = ViewBuilds(lines, events, enabled=enabled)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(builds.run)
        builds.read_reports()
        yield builds, events
        tasks.cancel_scope.cancel()
    lines.close()


async def test_a_new_react_project_is_built_shows_its_errors_in_the_page_and_reloads_when_they_are_fixed(
    browser: Browser, tmp_path: Path
) -> None:
    project = create_project(tmp_path, "react")
    link_packages(project)
    component = project / "view" / "Poll.jsx"
    good = component.read_text(encoding="utf-8")
    with running(servers([str(project / "server.py")]), policy="allow") as (inspector, address):
        async with opened(browser, inspector, address) as (page, problems):
            banner = page.get_by_role("alert", name="Builds")
            await call(page)  # before there is a document: the View appears when it is built
            shown = view(page).get_by_text("12 votes")
            await page.locator(".card mcp-app").wait_for()
            await expect(shown).to_be_visible(timeout=TIMEOUT * 1000)
            await expect(banner).to_be_hidden()

            component.write_text(good.replace("votes</p>", "votes</b>"), encoding="utf-8")
            await expect(banner).to_contain_text("The build of tides failed.", timeout=TIMEOUT * 1000)
            await expect(banner).to_contain_text("view/Poll.jsx:17:37")
            await expect(banner.locator("pre").first).to_contain_text("17 |           <p>{totalOf(poll)} votes</b>")
            await expect(shown).to_be_visible()
            await page.reload()
            await expect(banner).to_contain_text("view/Poll.jsx:17:37")  # also for a page that is opened later
            await call(page)
            await expect(shown).to_be_visible()  # the last good build is served

            component.write_text(good.replace("votes</p>", "voices</p>"), encoding="utf-8")
            await expect(banner).to_be_hidden(timeout=TIMEOUT * 1000)
            await expect_after_reload(view(page).get_by_text("12 voices"))
            assert problems == []


@pytest.mark.process
@pytest.mark.anyio
async def test_events_of_a_build_name_file_line_and_column_and_a_change_of_its_config_starts_it_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view_builds, "_CONFIG_INTERVAL", 0.05)
    project = make_project(tmp_path / "clock", {"view/main.js": 'import "./text.js";\n', "view/text.js": "let a;\n"})
    config, text = project / "vite.config.js", project / "view" / "text.js"
    good = config.read_text(encoding="utf-8")
    config.write_text(f"{good}let = 1;\n", encoding="utf-8")
    async with building(project) as (builds, events):
        failed = await events.state("failed")
        assert failed["errors"][0]["place"].startswith("vite.config.js:9:")
        assert not failed["served"]
        config.write_text(good, encoding="utf-8")
        assert (await events.state("built"))["errors"] == []
        built = (project / "dist" / "index.html").read_bytes()
        assert builds.is_input(text)
        assert not builds.is_input(project / "dist" / "index.html")
        assert builds.documents(project) == {project / "dist" / "index.html"}
        assert builds.documents(tmp_path) == frozenset()

        text.write_text('import "no-such-package";\n', encoding="utf-8")
        failed = await events.state("failed")
        assert failed["served"]
        (error,) = failed["errors"]
        assert (error["file"], error["line"], error["column"]) == ("view/text.js", 1, 8)
        assert error["frame"] == '1 | import "no-such-package";\n  |        ^'
        assert "no-such-package" in error["message"]
        assert str(project) not in error["message"]
        assert (project / "dist" / "index.html").read_bytes() == built

        text.write_text("let b;\n", encoding="utf-8")
        assert (await events.state("built"))["errors"] == []
    printed = capsys.readouterr().err
    assert "  view/text.js:1:8 " in printed
    assert printed.endswith("  clock is built again.\n")


@pytest.mark.anyio
async def test_without_installed_packages_one_line_says_what_to_run_and_the_build_starts_once_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view_builds, "_CONFIG_INTERVAL", 0.05)
    project = make_project(tmp_path / "clock", {"view/main.js": "let a;\n"}, installed=False)
    async with building(project) as (builds, events):
        missing = await events.state("missing")
        assert missing["advice"] == f"Its packages are not installed. Run `npm install` in {project}."
        assert builds.describe_all() == [missing]
        assert capsys.readouterr().err == f"  clock is not built. {missing['advice']}\n"
        monkeypatch.setenv("PATH", "")
        assert (await events.state("missing"))["advice"].startswith("Node.js was not found.")


@pytest.mark.anyio
async def test_without_builds_the_documents_are_known_and_nothing_is_started(tmp_path: Path) -> None:
    project = make_project(tmp_path / "clock", {"view/main.js": "let a;\n"})
    async with building(project, enabled=False) as (builds, events):
        await anyio.wait_all_tasks_blocked()
        assert builds.describe_all() == []
        assert events.builds == []
        assert builds.documents(project) == {project / "dist" / "index.html"}


@pytest.mark.process
@pytest.mark.anyio
async def test_a_build_that_cannot_run_is_shown_with_the_reason(tmp_path: Path) -> None:
    project = make_project(tmp_path / "clock", {"view/main.js": "let a;\n"}, installed=False)
    vite = project / "node_modules" / "vite"
    vite.mkdir(parents=True)
    (vite / "package.json").write_text('{"main": "./index.js"}', encoding="utf-8")
    (vite / "index.js").write_text("console.error('Error: too old'); process.exit(3);", encoding="utf-8")
    async with building(project) as (_, events):
        (error,) = (await events.state("failed"))["errors"]
    assert error["message"] == "The watch build ended: Error: too old"


@pytest.mark.process
def test_the_watch_build_ends_when_fanlight_dev_is_gone(tmp_path: Path) -> None:
    project = make_project(tmp_path / "clock", {"view/main.js": "let a;\n"})
    command = [node(), str(Path(view_builds.__file__).with_name("watch_build.mjs"))]
    with subprocess.Popen(command, cwd=project, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if json.loads(line)["event"] == "built":
                    break
            process.stdin.close()  # as the system does when the process at its other end is killed
            assert process.wait(TIMEOUT) == 0
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("script", "variables"),
    [
        ("vite build", {}),
        ("tsc --noEmit && cross-env INPUT=clock.html vite build", {"INPUT": "clock.html"}),
        ("A=1 B=2 npx vite build --mode x", {"A": "1", "B": "2"}),
        ("webpack", {}),
    ],
)
def test_variables_of_the_build_script_are_passed_to_vite(script: str, variables: dict[str, str]) -> None:
    assert _variables(script) == variables
