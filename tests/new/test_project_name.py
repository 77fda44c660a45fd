"""The name of a project."""

import importlib.util
import re
import tomllib
from pathlib import Path
from typing import get_args

import pytest

from fanlight.new.project import BuildBackend, Project
from fanlight.new.project_name import ProjectName
from fanlight.new.template import TEMPLATES
from fanlight.protocol.errors import UsageError


@pytest.mark.parametrize(
    ("text", "module", "title"),
    [
        ("tides", "tides", "Tides"),
        ("tide-tables", "tide_tables", "Tide tables"),
        ("Tide.Tables_2", "tide_tables_2", "Tide Tables 2"),
        ("a--b", "a_b", "A b"),
    ],
)
def test_a_name_of_pypi_becomes_a_module_and_a_title(text: str, module: str, title: str) -> None:
    name = ProjectName.parse(text)
    assert (name.package, name.module, name.title) == (text, module, title)


@pytest.mark.parametrize(
    "text", ["", "-tides", "tides_", "../tides", "a/b", "my tides", "gezeiten-für", "x" * 101, "a\n"]
)
def test_what_is_no_name_on_pypi_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a name for a project: expected"):
        ProjectName.parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3d", "'3d' starts with a digit. Write app-3d"),
        ("class", "'class' is a keyword of Python. Write class-app"),
        ("Async", "'async' is a keyword of Python. Write Async-app"),
        ("tests", "part of every project. Write tests-app"),
        ("server", "part of every project. Write server-app"),
        ("calendar", "installed Python package, which the project would hide. Write calendar-app"),
        ("yaml", "installed Python package, which the project would hide. Write yaml-app"),
        ("MCP", "Python package that the project depends on, and would hide. Write MCP-app"),
    ],
)
def test_a_name_that_cannot_be_imported_is_refused_with_one_that_can(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        ProjectName.parse(text)
    suggested = str(caught.value).partition("Write ")[2].partition(",")[0]
    assert ProjectName.parse(suggested).package == suggested


def dependencies() -> set[str]:
    """Return the packages that the projects of all templates name, and the modules that they import."""
    name, found = ProjectName.parse("tides"), {"tree-sitter", "mcp_types", "Plotly"}
    for template in TEMPLATES.values():
        for backend in get_args(BuildBackend):
            files = Project(name, template, backend, Path("tides")).files()
            tables = tomllib.loads(files["pyproject.toml"])
            packages = [*tables["project"]["dependencies"], *tables["dependency-groups"]["dev"]]
            packages += tables["build-system"]["requires"]
            found |= {re.split(r"[\[><=]", package)[0] for package in packages}
            for path, text in files.items():
                if path.endswith(".py"):
                    found |= set(re.findall(r"^(?:import|from) (\w+)", text, re.MULTILINE))
    return found - {"tides"}


@pytest.mark.parametrize("text", sorted(dependencies()))
def test_a_project_cannot_hide_what_it_depends_on(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)  # whether or not it is installed here
    with pytest.raises(UsageError, match=f"Write {text}-app"):
        ProjectName.parse(text)
