"""The documentation on testing: its workflow, programs and options work."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from fanlight.cli import main
from support.docs import ROOT, write_files

CI = ROOT / "docs" / "how-to" / "test-your-app-in-ci.md"
SHOT = ROOT / "docs" / "how-to" / "take-pictures.md"
REFERENCE = ROOT / "docs" / "reference" / "testing.md"


def run_python(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_PLUGINS": "fanlight.testing.plugin,anyio.pytest_plugin",
    }
    command = [sys.executable, *words]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=200, check=False
    )


@pytest.mark.process
def test_the_documented_ci_workflow_is_valid_and_its_tests_pass(tmp_path: Path) -> None:
    files = write_files(CI, tmp_path)
    workflow = yaml.safe_load(files[".github/workflows/test.yml"].read_text(encoding="utf-8"))
    assert workflow[True] == ["push", "pull_request"]  # YAML reads the key "on" as True
    (job,) = workflow["jobs"].values()
    assert job["runs-on"] == "ubuntu-latest"
    steps = job["steps"]
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"]) for step in steps if "uses" in step)
    left = next(step["with"] for step in steps if step.get("if") == "failure()")
    assert (left["path"], left["include-hidden-files"]) == (".fanlight/", True)

    install, test = (shlex.split(step["run"]) for step in steps if "run" in step)
    assert install == ["pip", "install", "fanlight[browser]", "pytest"]
    python, *words = test
    assert python == "python"
    first = run_python(tmp_path, *words)
    assert "2 failed, 2 passed" in first.stdout, first.stdout
    places = re.findall(r"^\| `(.*\.actual\.png)` \| `(.*)` \|$", CI.read_text(encoding="utf-8"), re.MULTILINE)
    assert {Path(target).name for _, target in places} == {"light.png", "dark.png"}
    for found, target in places:
        (tmp_path / target).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / ".fanlight" / found).rename(tmp_path / target)
    compared = run_python(tmp_path, *words)
    assert "4 passed" in compared.stdout, compared.stdout


@pytest.mark.process
def test_the_programs_of_the_testing_reference_run(tmp_path: Path) -> None:
    write_files(CI, tmp_path)
    write_files(REFERENCE, tmp_path)  # its conftest.py shares one browser
    shown = run_python(tmp_path, "shown.py")
    assert shown.returncode == 0, shown.stderr
    assert (tmp_path / "counter.png").read_bytes().startswith(b"\x89PNG")
    shared = run_python(tmp_path, "-m", "pytest", "-k", "click or may_add")
    assert "2 passed" in shared.stdout, shared.stdout


def test_the_page_on_pictures_passes_the_parameter_of_the_readme_tool() -> None:
    (arguments,) = re.findall(r"get_time --args '(.*)'", SHOT.read_text(encoding="utf-8"))
    (parameter,) = re.findall(r"def get_time\((\w+)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert [*json.loads(arguments)] == [parameter]


def test_the_page_on_pictures_names_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["shot", "--help"])
    options = set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) - {"--help", "--output", "--stdio"}
    assert options <= set(re.findall(r"--[a-z-]+", SHOT.read_text(encoding="utf-8")))
