"""The command line or the URL that a host gets for a server."""

import sys
from pathlib import Path
from typing import Any

import pytest

from fanlight.host.errors import ConfigError
from fanlight.host.upstream.config import Command, Url
from fanlight.install.launch import Launch, Request, launch
from fanlight.protocol.errors import UsageError


def _executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def script(tmp_path: Path) -> Path:
    script = tmp_path / "my apps" / "tides" / "server.py"
    script.parent.mkdir(parents=True)
    script.write_text("")
    (tmp_path / "my apps" / "pyproject.toml").write_text('[project]\nname = "apps"\n')
    return script


def test_a_file_runs_with_the_python_of_this_program(script: Path) -> None:
    expected = Launch("tides", Command(sys.executable, (str(script),)))
    assert launch(Request(str(script))) == expected
    assert launch(Request(str(script.parent))) == expected


def test_a_relative_path_becomes_absolute(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(script.parent)
    assert launch(Request("server.py")) == Launch("tides", Command(sys.executable, (str(script),)))


@pytest.mark.parametrize("folder", ["my apps/tides", "my apps"])
@pytest.mark.parametrize("python", [".venv/bin/python", ".venv/Scripts/python.exe"])
def test_a_file_runs_with_the_python_of_its_project(folder: str, python: str, script: Path, tmp_path: Path) -> None:
    expected = _executable(tmp_path / folder / python)
    assert launch(Request(str(script))).target == Command(str(expected), (str(script),))


def test_an_environment_outside_of_the_project_is_not_used(script: Path, tmp_path: Path) -> None:
    _executable(tmp_path / ".venv/bin/python")
    assert launch(Request(str(script))).target == Command(sys.executable, (str(script),))


def test_the_link_to_python_in_an_environment_is_not_followed(script: Path, tmp_path: Path) -> None:
    base = _executable(tmp_path / "base")
    link = tmp_path / "chosen"
    link.symlink_to(base)
    assert launch(Request(str(script), python=link)).target == Command(str(link), (str(script),))
    with pytest.raises(UsageError, match="--python is '/no/python', which does not exist"):
        launch(Request(str(script), python=Path("/no/python")))


def test_a_python_in_the_cache_of_uv_is_noted(script: Path, tmp_path: Path) -> None:
    python = _executable(tmp_path / "uv" / "archive-v0" / "abc" / "bin" / "python")
    (note,) = launch(Request(str(script), python=python)).notes
    assert note.endswith("is in uv's cache and may be deleted. Name a lasting Python with --python.")


@pytest.mark.parametrize(("full_paths", "command"), [(True, "{bin}/uvx"), (False, "uvx")])
def test_a_package_runs_with_uvx(
    full_paths: bool, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _executable(tmp_path / "uvx")
    monkeypatch.setenv("PATH", str(tmp_path))
    expected = Command(command.format(bin=tmp_path), ("tides@1.2",))
    assert launch(Request(uvx="tides@1.2", full_paths=full_paths)) == Launch("tides", expected)


def test_a_missing_uvx_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = launch(Request(uvx="my.tides"))
    assert (found.name, found.target) == ("my-tides", Command("uvx", ("my.tides",)))
    assert found.notes == ("uvx was not found on this machine. Install uv: https://docs.astral.sh/uv.",)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text(
        '[project]\nname = "tides"\n[project.scripts]\ntides = "a:b"\nother = "a:c"\n'
    )
    return folder


def test_a_project_runs_with_its_own_console_script(project: Path) -> None:
    script = _executable(project / ".venv" / "bin" / "tides")
    assert launch(Request(str(project))) == Launch("tides", Command(str(script)))


def test_a_project_without_an_environment_runs_with_uv(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    found = launch(Request(str(project)))
    assert (found.name, found.target) == ("tides", Command("uv", ("run", "--project", str(project), "tides")))


def test_a_project_with_several_scripts_is_an_error_that_lists_them(project: Path) -> None:
    (project / "pyproject.toml").write_text('[project]\nname = "x"\n[project.scripts]\na = "a:b"\nb = "a:c"\n')
    with pytest.raises(UsageError, match=r"the scripts of its pyproject.toml are: a, b"):
        launch(Request(str(project)))


def test_a_command_line_and_a_url_are_taken_as_they_are() -> None:
    command = ("npx", "some-server", "--stdio")
    found = launch(Request(command=command, full_paths=False, env=["A=b=c"]))
    assert found == Launch("some-server", Command("npx", ("some-server", "--stdio"), {"A": "b=c"}))
    found = launch(Request("https://maps.example/mcp", headers={"A": "b"}))
    assert found == Launch("maps-example", Url("https://maps.example/mcp", {"A": "b"}))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "there is no server. Expected one of: a server.py"),
        ({"server": "a.py", "uvx": "b"}, "there are several servers. Choose one of: a server.py"),
        ({"server": "servers.json"}, "is not a server: expected a .py file"),
        ({"server": "nothing"}, "is not a server: expected a .py file"),
        ({"uvx": "--from x"}, "expected the name of a package"),
        ({"uvx": "tides", "name": "my tides"}, "not a name that every host accepts"),
        ({"uvx": "tides", "env": ["KEY"]}, "expected KEY=VALUE"),
        ({"uvx": "tides", "headers": {"A": "b"}}, "--header is for servers that have a URL"),
        ({"server": "https://a.example/mcp", "env": ["A=b"]}, "--env is for servers that are commands"),
    ],
)
def test_a_wrong_command_line_is_an_error(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        launch(Request(**options))


def test_a_missing_file_is_an_error_unless_its_entry_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "gone" / "server.py"
    with pytest.raises(ConfigError, match="does not exist"):
        launch(Request(str(path)))
    assert launch(Request(str(path), must_exist=False)).target == Command(sys.executable, (str(path),))
