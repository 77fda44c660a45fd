import subprocess
import sys
from pathlib import Path

import pytest

from fanlight.dev.tracebacks import WIDE, TracebackReader, find_exceptions

CHAINED = """
def inner(key):
    return {"a": 1}[key]

def outer():
    try:
        inner("b")
    except KeyError as error:
        raise ValueError("no such key:\\nsecond line") from error
"""
LOGGED = """
import logging
from rich.console import Console
from rich.logging import RichHandler
logging.basicConfig(handlers=[RichHandler(console=Console(stderr=True), rich_tracebacks=True)])
import json
try:
    outer()
except ValueError as cause:
    try:
        raise RuntimeError("wrapped") from cause
    except RuntimeError:
        logging.getLogger().exception("Tool %r raised an unexpected exception", "outer")
logging.getLogger().error("still running")
"""


def stderr_of(folder: Path, code: str) -> list[str]:
    """Run a program, and return what it writes to its stderr."""
    path = folder / "program.py"
    path.write_text(code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(path)], capture_output=True, check=False, env={**WIDE, "PYTHONUTF8": "1"}, timeout=60
    )
    return done.stderr.decode().splitlines()


@pytest.mark.process
@pytest.mark.parametrize("code", [CHAINED + "\nouter()", CHAINED + LOGGED], ids=["Python", "rich"])
def test_the_authors_exceptions_are_found_with_their_frames(code: str, tmp_path: Path) -> None:
    found = find_exceptions(stderr_of(tmp_path, code))
    cause, error = found[:2]
    assert str(cause) == "KeyError: 'b'"
    assert [(frame.function, frame.line) for frame in cause.frames] == [("outer", 7), ("inner", 3)]
    assert cause.frames[-1].code == 'return {"a": 1}[key]'
    assert str(error) == "ValueError: no such key:\nsecond line"
    assert error.frames[-1].describe(tmp_path) == "program.py:9 in outer"


@pytest.mark.process
def test_what_a_library_raises_around_it_is_left_out(tmp_path: Path) -> None:
    code = "import json\njson.loads('{')"
    (error,) = find_exceptions(stderr_of(tmp_path, code))
    assert error.type == "json.decoder.JSONDecodeError"
    assert [frame.describe(tmp_path) for frame in error.frames] == ["program.py:2 in <module>"]


@pytest.mark.process
def test_a_syntax_error_has_its_line(tmp_path: Path) -> None:
    (error,) = find_exceptions(stderr_of(tmp_path, "x = 1\ndef (\n"))
    assert error.describe(tmp_path) == ["SyntaxError: invalid syntax", "  program.py:2", "    def ("]


@pytest.mark.process
def test_the_exceptions_of_a_group_are_found(tmp_path: Path) -> None:
    code = "raise ExceptionGroup('several', [ValueError('one'), KeyError('two')])"
    assert [str(each) for each in find_exceptions(stderr_of(tmp_path, code))] == [
        "ExceptionGroup: several (2 sub-exceptions)"
    ]
    code = """
errors = []
for key in ("one", "two"):
    try:
        {}[key]
    except KeyError as error:
        errors.append(error)
raise ExceptionGroup("several", errors)
"""
    found = find_exceptions(stderr_of(tmp_path, code))
    assert [str(each) for each in found] == [
        "ExceptionGroup: several (2 sub-exceptions)",
        "KeyError: 'one'",
        "KeyError: 'two'",
    ]


def test_other_lines_are_shown_as_they_are() -> None:
    reader = TracebackReader()
    lines = ["Starting.", "", "  indented", "Error: not an exception", '  File "x", line 1, in f', "| a | table |"]
    assert [line for each in lines for line in reader.feed(each)] == lines
    assert reader.exceptions == []


def test_a_traceback_is_shown_as_its_exception_and_the_log_goes_on() -> None:
    reader = TracebackReader(Path("/app"))
    lines = [
        "before",
        "Traceback (most recent call last):",
        '  File "/app/server.py", line 3, in tool',
        "    fail()",
        "    ^^^^^^",
        '  File "/usr/lib/python3.12/json/decoder.py", line 5, in decode',
        "    raise JSONDecodeError",
        "ValueError: bad",
        "",
        "After this, the server goes on.",
    ]
    shown = [line for each in lines for line in reader.feed(each)]
    assert shown == [
        "before",
        "ValueError: bad",
        "  server.py:3 in tool",
        "    fail()",
        "After this, the server goes on.",
    ]
