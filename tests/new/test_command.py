"""The command `fanlight new`: what it writes, refuses and asks."""

import argparse
import errno
import io
import json
import os
import shutil
import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import get_args

import pytest

from fanlight import __version__
from fanlight.cli import main
from fanlight.new.command import run
from fanlight.new.project import BuildBackend
from fanlight.new.template import TEMPLATES

SPELLINGS = ("my_app", "my-app", "My app", "DEPENDENCIES", "BUILD_BACKEND", "<!--")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def asked(monkeypatch: pytest.MonkeyPatch, *lines: str, **options: object) -> tuple[int, list[str]]:
    """Run the command in a terminal where somebody types these lines, and return its exit code and the prompts."""
    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    left, prompts = list(lines), []

    def ask(prompt: str) -> str:
        prompts.append(prompt)
        if not left:
            raise EOFError
        return left.pop(0)

    defaults = {"name": None, "template": None, "build_backend": "hatchling", "list": False, "json": False}
    return run(argparse.Namespace(**(defaults | options)), ask), prompts


def test_without_options_but_a_name_it_writes_the_default_template(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", "tide-tables"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Created tide-tables: template vanilla, ")
    # New environments of Python 3.11 have pip 23 or 24, which do not know --group.
    commands = ['python -m pip install --upgrade "pip>=25.1"', "python -m pip install --editable . --group dev"]
    assert out.splitlines()[2:] == [f"  {line}" for line in ("cd tide-tables", *commands, "fanlight dev server.py")]
    project = folder / "tide-tables"
    readme = [line.partition("  #")[0].rstrip() for line in (project / "README.md").read_text("utf-8").splitlines()]
    workflow = (project / ".github" / "workflows" / "check.yml").read_text(encoding="utf-8")
    assert readme[readme.index(commands[0]) + 1] == commands[1]
    assert [line.removeprefix("      - run: ") for line in workflow.splitlines() if " pip install" in line] == commands
    written = {path.relative_to(project).as_posix() for path in project.rglob("*") if path.is_file()}
    assert written == {
        *(".github/workflows/check.yml", ".gitignore", ".mcp.json", "README.md", "pyproject.toml", "server.py"),
        *(f"tide_tables/{name}" for name in ("__init__.py", "server.py", "style.css", "tide_tables.html")),
        *("tide_tables/tide_tables.js", "tests/test_tide_tables.py"),
    }


@pytest.mark.parametrize("template", TEMPLATES)
def test_no_placeholder_is_left_and_the_report_names_every_file(
    template: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", "tides", "--template", template, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["created"], report["error"], report["template"]) == (True, None, template)
    project = folder / "tides"
    assert report["folder"] == str(project.resolve())
    written = {path.relative_to(project).as_posix() for path in project.rglob("*") if path.is_file()}
    assert written == set(report["files"])
    for name in written:
        text = (project / name).read_text(encoding="utf-8")
        assert not [spelling for spelling in SPELLINGS if spelling in text], name
        assert text.endswith("\n"), name
        assert not text.endswith("\n\n"), name
    assert f"def {report['tool']}(" in (project / "tides" / "server.py").read_text(encoding="utf-8")
    readme = (project / "README.md").read_text(encoding="utf-8")
    workflow = (project / ".github" / "workflows" / "check.yml").read_text(encoding="utf-8")
    assert f"fanlight shot server.py {report['tool']} " in readme
    assert f"fanlight shot server.py {report['tool']} " in workflow
    assert json.loads((project / ".mcp.json").read_text(encoding="utf-8"))["mcpServers"]["tides"]["args"] == [
        "server.py"
    ]
    metadata = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
    assert metadata["project"]["dependencies"][0].partition("[")[0].startswith("fanlight")
    assert metadata["project"]["dependencies"][0].endswith(f">={__version__}")


def test_a_name_that_contains_a_placeholder_is_replaced_once(folder: Path) -> None:
    assert main(["new", "my-app-my_app"]) == 0
    text = (folder / "my-app-my_app" / "server.py").read_text(encoding="utf-8")
    assert "from my_app_my_app.server import" in text
    assert "command `my-app-my_app`" in text


def test_each_build_backend_has_its_tables(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    backends = get_args(BuildBackend)
    tables = files("fanlight.new") / "templates" / "backends"
    assert {file.name for file in tables.iterdir()} == {f"{backend}.toml" for backend in backends}
    for backend in backends:
        assert main(["new", f"tides-{backend}", "--build-backend", backend]) == 0
        project = folder / f"tides-{backend}"
        table = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
        assert table["build-system"]["requires"][0].startswith(backend)
        assert f"built by {backend}" in (project / "README.md").read_text(encoding="utf-8")
    with pytest.raises(SystemExit) as caught:
        main(["new", "tides", "--build-backend", "poetry"])
    assert caught.value.code == 2
    assert "uv_build" in capsys.readouterr().err


def test_the_list_has_one_line_for_each_template(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(TEMPLATES)
    assert all(len(line.split()) > 3 and len(line) < 90 for line in lines)
    assert main(["new", "--list", "--json"]) == 0
    assert [each["name"] for each in json.loads(capsys.readouterr().out)["templates"]] == list(TEMPLATES)


# What is refused


@pytest.mark.parametrize("there", ["notes.txt", ".git"])
def test_a_folder_with_files_is_refused_and_left_alone(
    there: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "tides").mkdir()
    (folder / "tides" / there).write_text("mine", encoding="utf-8")
    assert main(["new", "tides"]) == 1
    assert "tides already exists, and fanlight new overwrites nothing" in capsys.readouterr().err
    assert [path.name for path in (folder / "tides").iterdir()] == [there]
    assert main(["new", "tides", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["created"] is False
    assert "already exists" in report["error"]


def test_a_file_of_that_name_is_refused(folder: Path) -> None:
    (folder / "tides").write_text("mine", encoding="utf-8")
    assert main(["new", "tides"]) == 1
    assert (folder / "tides").read_text(encoding="utf-8") == "mine"


def test_an_empty_folder_is_filled(folder: Path) -> None:
    (folder / "tides").mkdir()
    assert main(["new", "tides"]) == 0
    assert (folder / "tides" / "server.py").is_file()


def test_a_folder_that_cannot_be_written_is_a_usage_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(path: Path, **_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "mkdir", refuse)
    assert main(["new", "tides"]) == 2
    assert "cannot be written: Permission denied." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tides", "--template", "reakt"], "There is no template 'reakt'. Did you mean react?"),
        (["tides", "-t", "angular"], "There is no template 'angular'. The templates are vanilla, show,"),
        (["../tides"], "'../tides' is not a name for a project"),
        ([], "expected the name of the project, such as fanlight new tide-tables."),
    ],
)
def test_a_wrong_command_line_is_exit_code_2_and_writes_nothing(
    words: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", *words]) == 2
    assert f"fanlight new: {message}" in capsys.readouterr().err
    assert list(folder.iterdir()) == []


# npm


@pytest.mark.parametrize(("npm", "noted"), [(None, True), ("/usr/bin/npm", False)])
def test_one_line_says_what_to_install_where_npm_is_missing(
    npm: str | None, noted: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: npm)
    assert main(["new", "tides", "--template", "vue"]) == 0
    out = capsys.readouterr().out
    assert "  npm install\n  fanlight dev server.py" in out
    notes = [line for line in out.splitlines() if line.startswith("npm was not found")]
    assert len(notes) == noted
    assert all("install Node.js" in note for note in notes)
    assert main(["new", "plain"]) == 0
    assert "npm" not in capsys.readouterr().out


# Questions


def test_a_terminal_is_asked_for_name_and_template_until_they_are_valid(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "taken").mkdir()
    (folder / "taken" / "file").touch()
    code, prompts = asked(monkeypatch, "my tides", "taken", " tides ", "11", "pags", "pages")
    assert code == 0
    assert "template pages" in capsys.readouterr().out
    assert (folder / "tides" / "tides" / "templates" / "page.html").is_file()
    assert prompts[0] == "Name of the project: "
    assert prompts[1].startswith("'my tides' is not a name")
    assert prompts[2].startswith("taken already exists")
    assert all(f"{number}  {name}" in prompts[3] for number, name in enumerate(TEMPLATES, 1))
    assert "There is no template '11'" in prompts[4]
    assert "Did you mean pages?" in prompts[5]


@pytest.mark.parametrize(("line", "template"), [("", "vanilla"), ("3", "form")])
def test_a_template_is_chosen_by_number_or_is_the_default(
    line: str, template: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, prompts = asked(monkeypatch, line, name="tides")
    assert (code, len(prompts)) == (0, 1)
    assert f"template {template}," in capsys.readouterr().out


@pytest.mark.parametrize("options", [{"template": "form"}, {"json": True}])
def test_nothing_is_asked_when_options_are_given(options: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(monkeypatch, name="tides", **options) == (0, [])


def test_a_folder_with_files_is_refused_before_the_template_is_asked_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "tides").mkdir()
    (folder / "tides" / "notes.txt").touch()
    assert asked(monkeypatch, name="tides") == (1, [])
    assert "tides already exists, and fanlight new overwrites nothing" in capsys.readouterr().err


def test_an_end_of_the_input_writes_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _ = asked(monkeypatch, "tides")
    assert code == 2
    assert "the input has ended, so nothing was written." in capsys.readouterr().err
    assert list(folder.iterdir()) == []


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo terminals")
def test_it_asks_in_a_real_terminal(folder: Path) -> None:
    import pty

    controller, terminal = pty.openpty()
    command = [sys.executable, "-m", "fanlight.cli", "new"]
    process = subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, cwd=folder)
    os.close(terminal)
    seen = b""
    try:
        for prompt, line in ((b"Name of the project: ", b"tides\n"), (b"[vanilla]: ", b"2\n"), (b"dev server.py", b"")):
            while prompt not in seen:
                seen += os.read(controller, 4096)
            os.write(controller, line)
        assert process.wait(timeout=30) == 0
    finally:
        process.kill()
        process.wait()
        os.close(controller)
    assert b"template show" in seen
    assert (folder / "tides" / "server.py").is_file()
