"""Which Node project builds a document, and what it needs."""

import json
import shutil
from pathlib import Path

import pytest

from fanlight.node_project import NodeProject, project_of, read_project, why_not_built


def write_package(folder: Path, **content: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text(json.dumps(content), encoding="utf-8")


@pytest.mark.parametrize(
    "document", ["dist/index.html", "build/clock.html", "dist/views/index.html", "src/dist/a.html"]
)
def test_the_nearest_package_with_a_build_script_builds_what_is_in_dist_or_build(tmp_path: Path, document: str) -> None:
    write_package(tmp_path, scripts={"build": "vite build"}, devDependencies={"vite": "8"})
    project = project_of(tmp_path / document)
    assert project == NodeProject(tmp_path, "vite build", frozenset({"vite"}))
    assert project.uses_vite


@pytest.mark.parametrize("document", ["index.html", "view/index.html", "dits/index.html"])
def test_a_document_in_another_folder_is_not_built(tmp_path: Path, document: str) -> None:
    write_package(tmp_path, scripts={"build": "vite build"})
    assert project_of(tmp_path / document) is None


def test_a_folder_named_build_above_the_package_does_not_matter(tmp_path: Path) -> None:
    write_package(tmp_path / "build" / "clock", scripts={"build": "vite build"})
    assert project_of(tmp_path / "build" / "clock" / "clock.html") is None


def test_the_nearest_package_decides(tmp_path: Path) -> None:
    write_package(tmp_path, scripts={"build": "make"})
    write_package(tmp_path / "inner", scripts={"test": "vitest"})
    assert project_of(tmp_path / "inner" / "dist" / "index.html") is None


@pytest.mark.parametrize("text", ["", "[]", "{", '{"scripts": []}', '{"scripts": {"build": 1}}'])
def test_a_package_without_a_valid_build_script_builds_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "package.json").write_text(text, encoding="utf-8")
    assert read_project(tmp_path) is None


def test_a_config_file_shows_that_vite_is_used(tmp_path: Path) -> None:
    write_package(tmp_path, scripts={"build": "vite build"})
    project = read_project(tmp_path)
    assert project is not None
    assert not project.uses_vite
    (tmp_path / "vite.config.ts").touch()
    assert project.uses_vite


@pytest.mark.parametrize(
    ("there", "installed", "advice"),
    [
        ({"node", "npm"}, True, None),
        ({"node", "npm"}, False, "Its packages are not installed. Run `npm install` in {}."),
        ({"node"}, False, "npm was not found. Install it from your package manager, then run `npm install` in {}."),
        (
            set(),
            False,
            "Node.js was not found. Install Node.js, with npm, from your package manager or https://nodejs.org, "
            "then run `npm install` in {}.",
        ),
        (
            set(),
            True,
            "Node.js was not found. Install Node.js from your package manager or https://nodejs.org.",
        ),
    ],
)
def test_one_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: set[str], installed: bool, advice: str | None
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}" if name in there else None)
    write_package(tmp_path, scripts={"build": "vite build"}, devDependencies={"vite": "8"})
    if installed:
        write_package(tmp_path / "node_modules" / "vite", version="8.0.0")
    project = read_project(tmp_path)
    assert project is not None
    assert why_not_built(project) == (None if advice is None else advice.format(tmp_path))
