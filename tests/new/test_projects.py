"""Each template as a project: created by the built wheel, built, tested, installed, checked and photographed."""

import importlib
import json
import os
import shlex
import shutil
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
from fanlight.new.project import BuildBackend
from fanlight.new.template import TEMPLATES
from fanlight.testing.stage import Stage
from support.new_projects import create_project, link_packages
from support.node import node
from support.wire import UI, VERSIONS, over_stdio

pytestmark = [pytest.mark.anyio, pytest.mark.process]

ROOT = Path(__file__).parents[2]
BACKENDS: dict[BuildBackend, str] = {
    "hatchling": "hatchling.build",
    "setuptools": "setuptools.build_meta",
    "uv_build": "uv_build",
}
WITH_NODE = [name for name, template in TEMPLATES.items() if template.needs_node]
TEXTS = {
    "show": ["Revenue by month", "72,300", "South"],
    "form": ["Book a table", "On the terrace", "Guests"],
    "pages": ["Shopping list", "Olives"],
}
POLL = ["What shall we drink?", "12 votes", "Coffee"]
"""What a View says, by template; all others show a poll."""
# pytest-asyncio and LangSmith bring plugins that the projects do not need.
PLUGINS = ("-p", "no:asyncio", "-p", "no:langsmith_plugin", "-p", "no:cacheprovider")


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
    ask = [str(python), "-c", "import fanlight; print(fanlight.__file__)"]
    found = subprocess.run(ask, capture_output=True, text=True, check=True, timeout=60, cwd=folder)
    assert Path(found.stdout).is_relative_to(packages)
    return Installed(python)


@pytest.fixture(scope="module")
async def projects(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One project of each template, with its View built."""
    folder = tmp_path_factory.mktemp("projects")
    # One process creates all: starting Python takes most of the time.
    script = "import sys; from fanlight.cli import main\n"
    script += "for name in sys.argv[1:]: assert main(['new', f'tides-{name}', '--template', name]) == 0"
    await installed.run(folder, "-c", script, *TEMPLATES)
    for template in WITH_NODE:
        link_packages(folder / f"tides-{template}")
        await installed.run(folder / f"tides-{template}", node(), "--run", "build")
    return {template: folder / f"tides-{template}" for template in TEMPLATES}


async def test_the_tests_of_each_template_pass(installed: Installed, projects: dict[str, Path]) -> None:
    # One run shares one browser. Each project alone would have its own folder as the first one of sys.path.
    folders = [str(folder) for folder in projects.values()]
    command = ("-m", "pytest", "-v", "-W", "error", *PLUGINS, "-o", f"pythonpath={shlex.join(folders)}")
    output = await installed.run(projects["vanilla"].parent, *command, *(f"{folder}/tests" for folder in folders))
    for template in TEMPLATES:
        assert f"test_tides_{template}.py::" in output
    assert "skipped" not in output


@pytest.mark.parametrize("template", TEMPLATES)
async def test_the_wheel_of_each_template_is_installed_checked_and_photographed(
    template: str, projects: dict[str, Path], browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = f"tides_{template}"
    (wheel,) = WheelBuilder(str(projects[template])).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    # The server runs in this process: check starts one for each protocol version, which would take most of the time.
    monkeypatch.syspath_prepend(tmp_path / "site")
    server = importlib.import_module(f"{module}.server").server
    assert Path(importlib.import_module(module).__path__[0]).is_relative_to(tmp_path / "site")
    tool = TEMPLATES[template].tool.replace("my_app", module)
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


async def test_without_npm_the_tests_and_tools_of_the_python_half_work(installed: Installed, tmp_path: Path) -> None:
    project = create_project(tmp_path, WITH_NODE[0])
    output = await installed.run(project, "-m", "pytest", "-q", *PLUGINS)
    assert "2 passed, 1 skipped" in output
    async with over_stdio(project / "server.py", VERSIONS[-1], UI) as client:
        assert (await client.call("show_tides"))["structuredContent"]["votes"]["Tea"] == 4


@pytest.mark.parametrize("backend", BACKENDS)
async def test_the_wheel_of_each_build_backend_contains_the_html(
    backend: BuildBackend, installed: Installed, tmp_path: Path
) -> None:
    pages = ("head.html", "items.html", "page.css", "page.html", "page.txt")
    project = create_project(tmp_path, WITH_NODE[0], backend)
    # Files of the other templates, so that one wheel has every kind of file: in the package, and in folders below it.
    for template in ("vanilla", "pages"):
        other = create_project(tmp_path / template, template, backend)
        shutil.copytree(other / "tides", project / "tides", dirs_exist_ok=True)
    (project / "tides" / "dist").mkdir()
    (project / "tides" / "dist" / "index.html").write_text("<!doctype html>", encoding="utf-8")
    (project / "dist").mkdir()
    await installed.run(project, "-c", f"import {BACKENDS[backend]} as backend; backend.build_wheel('dist')")
    (wheel,) = (project / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        files = {name for name in archive.namelist() if ".dist-info/" not in name and name[-1] != "/"}
        (scripts,) = (name for name in archive.namelist() if name.endswith("entry_points.txt"))
        assert "tides=tides.server:main" in archive.read(scripts).decode().replace(" ", "")
    assert files == {
        *(f"tides/{name}" for name in ("__init__.py", "server.py", "tides.html", "tides.js", "style.css")),
        *(f"tides/templates/{name}" for name in pages),
        "tides/dist/index.html",
    }


async def test_the_workflows_are_valid_and_the_command_for_pictures_writes_one(
    installed: Installed, projects: dict[str, Path]
) -> None:
    paths = {name: projects[name] / ".github" / "workflows" / "check.yml" for name in ("vanilla", WITH_NODE[0])}
    schema = ("--builtin-schema", "vendor.github-workflows")
    await installed.run(projects["vanilla"], "-m", "check_jsonschema", *schema, *map(str, paths.values()))
    jobs = {name: yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]["check"] for name, path in paths.items()}
    steps = {name: [step["run"] for step in job["steps"] if "run" in step] for name, job in jobs.items()}
    assert [run for run in steps[WITH_NODE[0]] if run.startswith("npm")] == ["npm install", "npm run build"]
    *_, test, conformance, picture = steps["vanilla"]
    assert (test, conformance) == ("python -m pytest", "fanlight check server.py")
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
