import subprocess
import sys

import pytest

from fanlight import __version__
from fanlight.cli import main


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"fanlight {__version__}\n"


def test_without_a_command_there_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "show the apps of MCP servers in a browser" in capsys.readouterr().out


def test_a_server_that_is_none_is_one_line_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dev", "nothing.py"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("fanlight dev: nothing.py does not exist.")
    assert error.count("\n") == 1


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['fanlight', '--version']; from fanlight.cli import main; main(); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert not {"mcp", "starlette", "uvicorn", "pydantic", "anyio"} & set(done.stdout.split())
