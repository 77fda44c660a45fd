"""The files around the code: workflows, templates, hooks, and the pages for contributors.

Workflows run on GitHub only, so what can be said about them here is that they are valid and what they would do.
"""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
GITHUB = ROOT / ".github"
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))
WORKFLOWS = {path.name: path for path in sorted((GITHUB / "workflows").glob("*.yml"))}
PAGES = [ROOT / name for name in ("AGENTS.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md")]
LINK = re.compile(r"\[[^\]]+\]\((?!https?://)([^)#]*)(?:#([^)]*))?\)")

SCHEMAS = {
    "vendor.github-workflows": "workflows/*.yml",
    "custom.github-workflows-require-timeout": "workflows/*.yml",
    "vendor.dependabot": "dependabot.yml",
    "vendor.github-issue-config": "ISSUE_TEMPLATE/config.yml",
    "vendor.github-issue-forms": "ISSUE_TEMPLATE/*_*.yml",
}


def read_yaml(path: Path) -> dict[str, Any]:
    loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
    # YAML 1.1, which GitHub does not use, reads the key "on" as true.
    return {"on" if key is True else key: value for key, value in loaded.items()}


def commands_of(job: dict[str, Any]) -> str:
    return "\n".join(step["run"] for step in job["steps"] if "run" in step)


def validate(schema: str, *files: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.process
@pytest.mark.parametrize(("schema", "pattern"), SCHEMAS.items(), ids=SCHEMAS)
def test_files_for_github_are_valid(schema: str, pattern: str) -> None:
    files = sorted(GITHUB.glob(pattern))
    assert files
    done = validate(schema, *files)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.process
def test_an_invalid_workflow_is_found(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yml"
    text = WORKFLOWS["ci.yml"].read_text(encoding="utf-8")
    broken.write_text(text.replace("runs-on: ubuntu-latest", "run-on: ubuntu-latest"), encoding="utf-8")
    done = validate("vendor.github-workflows", broken)
    assert done.returncode == 1
    assert "run-on" in done.stdout + done.stderr


def test_ci_runs_make_test_on_linux() -> None:
    job = read_yaml(WORKFLOWS["ci.yml"])["jobs"]["test"]
    assert job["runs-on"] == "ubuntu-latest"
    assert commands_of(job) == "make test"


def test_ci_runs_the_fast_tests_on_every_supported_python_and_system() -> None:
    job = read_yaml(WORKFLOWS["ci.yml"])["jobs"]["quick"]
    classifiers = "\n".join(PYPROJECT["project"]["classifiers"])
    supported = re.findall(r"^Programming Language :: Python :: (3\.\d+)$", classifiers, re.MULTILINE)
    assert f">={supported[0]}" == PYPROJECT["project"]["requires-python"]
    assert job["strategy"]["matrix"] == {
        "os": ["ubuntu-latest", "macos-latest", "windows-latest"],
        "python": supported,
    }
    # Windows has no make, so the workflow repeats what `make quick` selects.
    selected = re.search(r"^fast:.*\n\t\$\(PYTEST\) (-m .*)$", MAKEFILE, re.MULTILINE)
    assert selected
    assert f"-m pytest {selected[1]}" in commands_of(job)


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_has_no_permission_that_it_does_not_need(name: str) -> None:
    workflow = read_yaml(WORKFLOWS[name])
    assert workflow["permissions"] in ({}, {"contents": "read"})
    granted = {job: set(given.get("permissions", {}).items()) for job, given in workflow["jobs"].items()}
    writes = {(job, *grant) for job, grants in granted.items() for grant in grants if grant[1] != "read"}
    assert writes <= {("publish", "id-token", "write")}
    for job in workflow["jobs"].values():
        checkouts = [step for step in job["steps"] if step.get("uses", "").startswith("actions/checkout@")]
        assert all(step["with"]["persist-credentials"] is False for step in checkouts)


@pytest.mark.parametrize("name", WORKFLOWS)
def test_actions_are_pinned_to_a_major_version(name: str) -> None:
    steps = [step for job in read_yaml(WORKFLOWS[name])["jobs"].values() for step in job["steps"]]
    used = [step["uses"] for step in steps if "uses" in step]
    assert used
    for action in used:
        assert re.fullmatch(r"actions/[a-z-]+@v\d+|pypa/gh-action-pypi-publish@release/v\d+", action), action


def test_a_release_is_built_checked_and_installed_before_it_is_published() -> None:
    jobs = read_yaml(WORKFLOWS["release.yml"])["jobs"]
    commands = commands_of(jobs["build"])
    order = ["python -m build", "twine check --strict dist/*", "install dist/*.whl", "fanlight --version"]
    positions = [commands.index(command) for command in order]
    assert positions == sorted(positions)
    assert jobs["publish"]["needs"] == "build"


def test_only_a_tag_publishes_and_no_secret_is_used() -> None:
    workflow = read_yaml(WORKFLOWS["release.yml"])
    assert workflow["on"]["push"] == {"tags": ["v*"]}
    publish = workflow["jobs"]["publish"]
    assert publish["if"] == "github.event_name == 'push' && github.ref_type == 'tag'"
    assert publish["permissions"] == {"id-token": "write"}
    assert "secrets." not in WORKFLOWS["release.yml"].read_text(encoding="utf-8")


def test_the_hooks_run_the_tools_of_make_lint() -> None:
    lint = re.search(r"^lint:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    assert lint
    (repository,) = read_yaml(ROOT / ".pre-commit-config.yaml")["repos"]
    hooks = {hook["id"]: hook for hook in repository["hooks"]}
    entries = "\n".join(hook["entry"] for hook in hooks.values())
    tools = re.compile(r"ruff check|ruff format|[\w/]+/(?:eslint\.js|prettier\.cjs)")
    assert tools.findall(entries) == tools.findall(lint[1])
    assert len(tools.findall(entries)) == len(hooks) == lint[1].count("\n")
    linted = re.search(r"eslint\.js (.*)", lint[1])
    assert linted
    for folder in linted[1].split():
        assert re.search(hooks["eslint"]["files"], f"{folder}/some.js"), folder


def test_every_tool_breaks_lines_at_the_same_column() -> None:
    width = PYPROJECT["tool"]["ruff"]["line-length"]
    for name, pattern in {
        ".editorconfig": r"^\[\*\](?:\n.+)*\nmax_line_length = (\d+)$",
        "eslint.config.js": r'"max-len": \["error", \{ code: (\d+)',
        "prettier.config.js": r"^  printWidth: (\d+),$",
    }.items():
        (found,) = re.findall(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
        assert int(found) == width, name


def test_every_folder_and_top_level_module_is_on_the_map() -> None:
    page = (ROOT / "AGENTS.md").read_text(encoding="utf-8")
    packages = {path.parent.name for path in (ROOT / "src" / "fanlight").glob("*/__init__.py")}
    folders = {str(path.parent.relative_to(ROOT)) for path in (ROOT / "src" / "fanlight").rglob("*/__init__.py")}
    folders.remove("src/fanlight/new/templates/common/my_app")  # a package of the projects that it becomes
    assert {"src/fanlight/protocol", "src/fanlight/host/web"} <= folders
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "src" / "fanlight").glob("[!_]*.py")}
    assert "src/fanlight/cli.py" in modules
    assert set(re.findall(r"^\| `(src/fanlight/[\w/.]+)` \|", page, re.MULTILINE)) == folders | modules
    tests = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir() and not path.name.startswith("_")}
    same = {*packages, *(path.name for path in ROOT.iterdir() if path.is_dir())}
    assert "js" in tests - same
    for name in tests - same:
        assert f"`tests/{name}`" in page


@pytest.mark.parametrize("page", ["AGENTS.md", "CONTRIBUTING.md"])
def test_every_command_that_a_page_names_exists(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"(?:^|`)make ([a-z-]+)", text, re.MULTILINE)
    assert len(named) > 2
    for name in named:
        assert re.search(rf"^{name}:", MAKEFILE, re.MULTILINE), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_a_page_for_contributors_leads_somewhere(page: Path) -> None:
    for target, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        file = page.parent / target if target else page
        assert file.exists(), target
        headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE) if anchor else []
        assert not anchor or anchor in [heading.lower().replace(" ", "-") for heading in headings], anchor


def test_every_dependency_has_its_reason() -> None:
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    package = re.compile(r'\s+"[a-z-]+(?:\[[a-z,]+\])?==')
    pinned = [number for number, line in enumerate(lines) if package.match(line)]
    assert len(pinned) > 10
    for number in pinned:
        # A reason may be shared by the packages right below it.
        above = next(line for line in reversed(lines[:number]) if not package.match(line))
        assert above.lstrip().startswith("#"), lines[number]
    reasons = [re.compile(re.escape(name).replace(r"\*", ".*")) for name in PACKAGES["//"]]
    for name in PACKAGES["devDependencies"]:
        assert any(reason.fullmatch(name) for reason in reasons), name


def test_the_sdist_takes_its_files_from_the_root_only() -> None:
    included = PYPROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert {"/src", "/README.md", "/LICENSE"} <= set(included)
    for name in included:
        assert name.startswith("/"), f"{name} would match in every folder"
        assert (ROOT / name[1:]).exists()
