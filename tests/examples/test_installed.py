"""The examples as `pip install fanlight` installs them, for `fanlight dev` without arguments."""

import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from fanlight.dev.targets import EXAMPLES as NAMES
from support.examples import EXAMPLES, VIEWS
from support.wire import UI, in_memory

pytestmark = [pytest.mark.anyio, pytest.mark.process]

ROOT = EXAMPLES.parent
NOT_INSTALLED = {"sales", "import", "cart", "booking"}  # most need pandas or Jinja2, which Fanlight does not
PRINT_FOLDERS = """
from fanlight.dev.targets import servers
for name, served in servers([]).items():
    print(name, served.folder)
"""


def included() -> dict[str, str]:
    """Return the extra files of the wheel, as paths in the repository and paths in the wheel."""
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"][
        "wheel"
    ]
    assert wheel["packages"] == ["src/fanlight"]
    files: dict[str, str] = wheel["force-include"]
    return files


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Install the package as its wheel does."""
    skipped = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src" / "fanlight", tmp_path / "fanlight", ignore=skipped)
    for source, target in included().items():
        (tmp_path / target).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, tmp_path / target, ignore=skipped)
        else:
            shutil.copy(ROOT / source, tmp_path / target)
    return tmp_path


def test_every_example_that_is_shown_is_installed_and_nothing_else() -> None:
    folders = {
        source: f"fanlight/{source}" for source in (*(f"examples/{name}" for name in NAMES), "examples/look.css")
    }
    assert included() == folders
    assert set(NAMES) == set(VIEWS) - NOT_INSTALLED


def test_without_a_server_the_installed_examples_are_shown(installed: Path) -> None:
    command = [sys.executable, "-c", PRINT_FOLDERS]
    done = subprocess.run(
        command,
        cwd=installed,
        env={"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.splitlines() == [f"{name} {installed / 'fanlight' / 'examples' / name}" for name in NAMES]


async def test_the_installed_examples_have_all_files_of_their_views(installed: Path) -> None:
    for name in NAMES:
        uri, tool, arguments = VIEWS[name]
        program = runpy.run_path(str(installed / "fanlight" / "examples" / name / "server.py"))
        async with in_memory(program["server"], "2025-11-25", UI) as client:
            assert "--color-background-primary" in (await client.read(uri))["text"]  # of look.css
            assert not (await client.call(tool, **arguments)).get("isError")
