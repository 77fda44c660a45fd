"""Each template as a project: created by the built wheel, built, tested, installed, checked and photographed."""

import importlib
import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest
import yaml
from hatchling.builders.wheel import WheelBuilder
from playwright.async_api import Browser

from fanlight.check import check
from fanlight.new.template import TEMPLATES
from fanlight.testing.stage import Stage
from support.node import node, node_module

pytestmark = [pytest.mark.anyio, pytest.mark.process]

ROOT = Path(__file__).parents[2]
BACKENDS = {"hatchling": "hatchling.build", "setuptools": "setuptools.build_meta", "uv_build": "uv_build"}
WITH_NODE = [name for name, template in TEMPLATES.items() if template.needs_node]
TEXTS = {
    "show": ["Revenue by month", "72,300", "South"],
    "form": ["Book a table", "On the terrace", "Guests"],
    "pages": ["Shopping list", "Olives"],
}
POLL = ["What shall we drink?", "12 votes", "Coffee"]
"""What a View says, by template; all others show a poll."""


@dataclass(frozen=True)
class Installed:
    """A virtual environment with Fanlight from its wheel, and whatever else is installed for the tests."""

    python: Path

    async def run(self, folder: Path, *words: str) -> str:
        """Run a program of the environment, which must succeed, and return its output."""
        path = os.pathsep.join((str(Path(node()).parent), os.environ.get("PATH", os.defpath)))
        command = [str(self.python), *words] if words[0].startswith("-") else list(words)
        with anyio.fail_after(120):
            done = await anyio.run_process(command, cwd=folder, env={**os.environ, "PATH": path}, check=False)
        assert done.returncode == 0, (done.stdout + done.stderr).decode()
        return done.stdout.decode()

    async def fanlight(self, folder: Path, *words: str) -> str:
        return await self.run(folder, "-m", "fanlight.cli", *words)

    async def create(self, folder: Path, name: str, template: str, *words: str) -> tuple[Path, str]:
        """Create a project, and return its folder and the tool with the View."""
        report = json.loads(await self.fanlight(folder, "new", name, "--template", template, "--json", *words))
        return Path(report["folder"]), report["tool"]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("installed")
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(folder / "wheel"), versions=["standard"])
    venv.create(folder / "env", with_pip=False, symlinks=os.name != "nt")
    scheme = {"base": str(folder / "env"), "platbase": str(folder / "env")}
    packages = Path(sysconfig.get_path("purelib", "venv", scheme))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    shared = sysconfig.get_path("purelib")
    (packages / "shared.pth").write_text(f"import site; site.addsitedir({shared!r})\n", encoding="utf-8")
    python = Path(sysconfig.get_path("scripts", "venv", scheme)) / Path(sys.executable).name
    ask = [python, "-c", "import fanlight; print(fanlight.__file__)"]
    found = subprocess.run(ask, capture_output=True, text=True, check=True, timeout=60, cwd=folder)
    assert Path(found.stdout).is_relative_to(packages)
    return Installed(python)


def link_packages(project: Path) -> None:
    """Put the packages that `package.json` names, and no others, into the project's node_modules."""
    manifest = json.loads((project / "package.json").read_text(encoding="utf-8"))
    modules = project / "node_modules"
    for name in (*manifest["dependencies"], *manifest["devDependencies"]):
        # The name without a version belongs to the 1.x package here.
        source = node_module("ext-apps-2" if name == "@modelcontextprotocol/ext-apps" else name)
        (modules / name).parent.mkdir(parents=True, exist_ok=True)
        (modules / name).symlink_to(source, target_is_directory=True)
    (modules / ".bin").mkdir()
    (modules / ".bin" / "vite").symlink_to(node_module("vite/bin/vite.js"))


async def build_wheel(installed: Installed, project: Path, backend: str) -> zipfile.ZipFile:
    script = f"import {BACKENDS[backend]} as backend; backend.build_wheel('dist')"
    (project / "dist").mkdir(exist_ok=True)
    await installed.run(project, "-c", script)
    (wheel,) = (project / "dist").glob("*.whl")
    return zipfile.ZipFile(wheel)


@pytest.mark.parametrize("template", TEMPLATES)
async def test_a_template_is_created_built_tested_installed_checked_and_photographed(
    template: str, installed: Installed, browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = f"tides_{template}"
    project, tool = await installed.create(tmp_path, f"tides-{template}", template)
    if TEMPLATES[template].needs_node:
        link_packages(project)
        await installed.run(project, node(), "--run", "build")
    # pytest-asyncio and LangSmith bring plugins that the project does not need.
    plugins = ("-p", "no:asyncio", "-p", "no:langsmith_plugin", "-p", "no:cacheprovider")
    output = await installed.run(project, "-m", "pytest", "-q", "-W", "error", *plugins)
    assert "passed" in output
    assert "skipped" not in output

    with await build_wheel(installed, project, "hatchling") as archive:
        archive.extractall(tmp_path / "site")
    # The server runs in this process: check starts one for each protocol version, which would take most of the time.
    monkeypatch.syspath_prepend(tmp_path / "site")
    server = importlib.import_module(f"{module}.server").server
    async with Stage({"tides": server}, browser=browser) as stage:
        arguments = {"name": "Ada"} if template == "form" else {}
        async with stage.open("tides", tool, arguments, theme="dark", size=(390, 700)) as view:
            text = await view.frame.locator("body").inner_text()
            assert [part for part in TEXTS.get(template, POLL) if part not in text] == []
            assert (view.errors, view.violations) == ([], [])
            assert not await view.frame.evaluate("document.documentElement.scrollWidth > innerWidth")
            picture = await view.screenshot()
    assert picture.startswith(b"\x89PNG")
    report = await check(server, browser=browser)
    assert [finding for finding in report.findings if finding.level != "note"] == []


async def test_without_npm_the_python_half_works_and_the_view_says_what_to_run(
    installed: Installed, browser: Browser, tmp_path: Path
) -> None:
    project, tool = await installed.create(tmp_path, "tides", WITH_NODE[0])
    output = await installed.run(project, "-m", "pytest", "-q", "-p", "no:asyncio", "-p", "no:langsmith_plugin")
    assert "2 passed, 1 skipped" in output
    async with Stage({"tides": [str(installed.python), str(project / "server.py")]}, browser=browser) as stage:
        logged: list[str] = []
        stage.host.servers["tides"].observe_stderr(logged.append)
        async with stage.open("tides", tool) as view:
            assert "npm install && npm run build" in await view.frame.locator("body").inner_text()
            assert view.errors == []
            assert view.call.result is not None
            assert view.call.result["structuredContent"]["votes"]["Tea"] == 4
    assert "Run: npm install && npm run build" in "".join(logged)


@pytest.mark.parametrize("backend", BACKENDS)
async def test_the_wheel_of_each_build_backend_contains_the_html(
    backend: str, installed: Installed, tmp_path: Path
) -> None:
    pages = ("head.html", "items.html", "page.css", "page.html", "page.txt")
    expected = {
        "vanilla": {"tides/tides.html", "tides/tides.js", "tides/style.css"},
        "pages": {f"tides/templates/{name}" for name in pages},
        "react": {"tides/built/index.html", "tides/not_built.html"},
    }
    for template, names in expected.items():
        (tmp_path / template).mkdir()
        project, _ = await installed.create(tmp_path / template, "tides", template, "--build-backend", backend)
        if template == "react":
            (project / "tides" / "built").mkdir()
            (project / "tides" / "built" / "index.html").write_text("<!doctype html>", encoding="utf-8")
        with await build_wheel(installed, project, backend) as archive:
            files = {name for name in archive.namelist() if ".dist-info/" not in name and name[-1] != "/"}
            (scripts,) = (name for name in archive.namelist() if name.endswith("entry_points.txt"))
            assert "tides=tides.server:main" in archive.read(scripts).decode().replace(" ", "")
        assert files == {"tides/__init__.py", "tides/server.py", *names}


async def test_the_workflows_are_valid_and_their_commands_succeed(installed: Installed, tmp_path: Path) -> None:
    names = ("vanilla", WITH_NODE[0])
    projects = {name: (await installed.create(tmp_path, f"tides-{name}", name))[0] for name in names}
    paths = {name: project / ".github" / "workflows" / "check.yml" for name, project in projects.items()}
    schema = ("--builtin-schema", "vendor.github-workflows")
    await installed.run(tmp_path, "-m", "check_jsonschema", *schema, *map(str, paths.values()))
    jobs = {name: yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]["check"] for name, path in paths.items()}
    steps = {name: [step["run"] for step in job["steps"] if "run" in step] for name, job in jobs.items()}
    assert [run for run in steps[WITH_NODE[0]] if run.startswith("npm")] == ["npm install", "npm run build"]
    *_, test, conformance, picture = steps["vanilla"]
    assert test == "python -m pytest"
    await installed.fanlight(projects["vanilla"], *conformance.split()[1:])
    await installed.fanlight(projects["vanilla"], *picture.split()[1:])
    assert (projects["vanilla"] / "picture.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("template", WITH_NODE)
def test_the_versions_of_node_packages_are_those_that_are_tested(template: str) -> None:
    folder = ROOT / "src" / "fanlight" / "new" / "templates" / template
    manifest = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    tested = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))["devDependencies"]
    for name, version in (manifest["dependencies"] | manifest["devDependencies"]).items():
        pinned = tested["ext-apps-2" if name == "@modelcontextprotocol/ext-apps" else name]
        assert version == f"^{pinned.rpartition('@')[2]}", name
    for name, version in manifest.get("overrides", {}).items():
        assert json.loads((ROOT / "package.json").read_text(encoding="utf-8"))["overrides"][name] == version
