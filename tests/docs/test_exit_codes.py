"""The exit codes that the reference promises for all commands."""

import argparse
import re
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from fanlight import cli
from fanlight.cli import main
from support.docs import ROOT

PAGE = (ROOT / "docs" / "reference" / "exit-codes.md").read_text(encoding="utf-8")
PAGES = {
    "chat": "reference/chat.md",
    "check": "reference/check.md",
    "dev": "reference/dev.md",
    "install": "reference/install.md",
    "shot": "how-to/take-pictures.md",
}
"""The pages with a table of exit codes of one command."""
CLOCK = str(ROOT / "examples" / "clock" / "server.py")
PACKAGES = {
    "build": ("orjson", [CLOCK]),
    "chat": ("pydantic_ai", [CLOCK]),
    "check": ("orjson", [CLOCK]),
    "dev": ("orjson", [CLOCK]),
    "install": ("orjson", ["vscode", CLOCK]),
    "probe": ("orjson", []),
    "shot": ("orjson", [CLOCK, "get_time"]),
}
"""A package that a command needs and that an extra brings, and a command line."""


def _commands() -> list[str]:
    help_text = PAGE.partition("What 0 and 1 mean")[2]
    rows = [line.split("|")[1] for line in help_text.splitlines() if line.startswith("|")]
    return sorted(set(re.findall(r"`fanlight ([a-z]+)`", " ".join(rows))))


def _codes(text: str) -> set[int]:
    return {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)}


def test_the_page_has_every_command_that_serves_or_answers(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    known = re.findall(r"^    ([a-z]+)  ", capsys.readouterr().out, re.MULTILINE)
    assert {"check", "install"} <= set(known) <= set(_commands())


@pytest.mark.parametrize("command", PAGES)
def test_the_page_of_a_command_has_only_codes_of_the_common_page(command: str) -> None:
    codes = _codes((ROOT / "docs" / PAGES[command]).read_text(encoding="utf-8"))
    assert codes
    assert codes <= _codes(PAGE)
    assert (1 in codes) == (command not in ("dev", "chat"))


@pytest.mark.parametrize("command", _commands())
def test_an_unknown_option_has_exit_code_2(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, *PACKAGES.get(command, ("", []))[1], "--no-such-option"])
    assert ended.value.code == 2


@pytest.mark.parametrize("command", ["check", "dev", "chat", "install"])
def test_a_missing_file_has_exit_code_2(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, *(["vscode"] if command == "install" else []), "no-such-file.py"]) == 2
    assert "no-such-file.py does not exist" in capsys.readouterr().err


@pytest.mark.process
@pytest.mark.parametrize("command", PACKAGES)
def test_a_missing_package_has_exit_code_3(command: str, tmp_path: Path) -> None:
    package, words = PACKAGES[command]
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        f"from fanlight.cli import main; sys.exit(main({[command, *words]!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (3, "")
    message = rf"fanlight {command} needs packages that are not installed \({package}.*\): pip install '.*'\n"
    assert re.fullmatch(message, done.stderr), done.stderr


def test_an_interrupt_before_a_command_has_started_has_exit_code_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(options: argparse.Namespace, command: Sequence[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_dev", interrupt)
    assert main(["dev"]) == 130


def test_a_closed_pipe_has_exit_code_141(monkeypatch: pytest.MonkeyPatch) -> None:
    def write(options: argparse.Namespace, command: Sequence[str]) -> int:
        raise BrokenPipeError

    monkeypatch.setattr(cli, "_dev", write)
    monkeypatch.setattr("os.dup2", lambda source, target: None)
    assert main(["dev"]) == 141


def test_a_port_that_is_in_use_has_exit_code_3(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(SystemExit) as ended:
            main(["probe", "--http", "--port", str(port)])
    assert ended.value.code == 3
    assert "address already in use" in capsys.readouterr().err
