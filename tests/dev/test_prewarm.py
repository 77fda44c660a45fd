"""Prewarmed Python processes."""

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from anyio.abc import Process

from fanlight.dev.prewarm import PrewarmedProcesses, imports
from fanlight.host import Host
from fanlight.host.upstream.config import Command
from support.calls import call_tool

pytestmark = [pytest.mark.anyio, pytest.mark.process]

SERVER = """
from mcp.server import MCPServer

server = MCPServer("it")


@server.tool()
def loaded() -> str:
    import sys

    return f"{sys.argv[0]} {'_prewarmed' in ' '.join(sys.orig_argv)}"


server.run()
"""


@pytest.fixture
async def prewarmed() -> AsyncIterator[PrewarmedProcesses]:
    processes = PrewarmedProcesses()
    yield processes
    await processes.aclose()


def write(folder: Path, text: str, name: str = "server.py") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


async def finish(process: Process | None, stdin: bytes = b"") -> tuple[int, str, str]:
    """Write to the stdin of a process, and return its exit code, its output, and its errors."""
    assert process is not None
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    with anyio.fail_after(90):
        await process.stdin.send(stdin or b"\n")
        await process.stdin.aclose()
        out = b"".join([piece async for piece in process.stdout])
        errors = b"".join([piece async for piece in process.stderr])
        code = await process.wait()
        await process.aclose()
    return code, out.decode(), errors.decode()


def test_only_the_installed_modules_that_a_file_imports_first_are_imported_in_advance(tmp_path: Path) -> None:
    (tmp_path / "anyio").mkdir()  # the author's own, which shadows the installed one
    script = write(
        tmp_path,
        '"""A docstring."""\n'
        "from __future__ import annotations\n"
        "import os, orjson\n"
        "import anyio\n"
        "from mcp.server import MCPServer\n"
        "from . import near\n"
        "from helpers import more\n"
        "from fanlight import Apps\n"
        "os.environ['SETTING'] = '1'\n"
        "import pydantic\n",
    )
    assert imports(script) == ("orjson", "mcp.server:MCPServer", "fanlight:Apps")
    assert imports(write(tmp_path, "import orjson\ndef :")) == ()
    assert imports(tmp_path / "missing.py") == ()


async def test_a_file_runs_as_if_python_had_been_started_for_it(tmp_path: Path, prewarmed: PrewarmedProcesses) -> None:
    script = write(
        tmp_path,
        "import orjson\n"
        "import os, pickle, sys\n"
        "import near\n"
        "class Thing: pass\n"
        "assert type(pickle.loads(pickle.dumps(Thing()))) is Thing\n"
        "print(__name__, __file__, sys.argv, sys.path[0], os.getcwd(), near.word, os.environ['SETTING'])\n"
        "print(sys.stdin.read(), end='')\n"
        "sys.exit(7)\n",
    )
    write(tmp_path, "word = 'near'", "near.py")
    environment = {**os.environ, "SETTING": "set"}
    await prewarmed.prepare(script, environment)
    code, out, errors = await finish(await prewarmed.take(script, environment), b"one\ntwo\n")
    assert (code, errors) == (7, "")
    first, rest = out.split("\n", 1)
    assert first == f"__main__ {script} ['{script}'] {tmp_path} {tmp_path} near set"
    assert rest == "one\ntwo\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import orjson\ndef f():\n    raise ValueError('no')\nf()\n", "ValueError: no"),
        ("import orjson\nimport not_there\n", "No module named 'not_there'"),
    ],
)
async def test_an_error_is_reported_as_python_reports_it(
    text: str, message: str, tmp_path: Path, prewarmed: PrewarmedProcesses
) -> None:
    script = write(tmp_path, text)
    await prewarmed.prepare(script, os.environ)
    code, _, errors = await finish(await prewarmed.take(script, os.environ))
    assert code == 1
    assert errors.startswith(f'Traceback (most recent call last):\n  File "{script}", line')
    assert message in errors
    assert "_prewarmed" not in errors


async def test_a_module_next_to_the_file_shadows_others_as_usual(tmp_path: Path, prewarmed: PrewarmedProcesses) -> None:
    sibling = write(tmp_path, "class JSONDecodeError(ValueError): pass", "json.py")
    script = write(tmp_path, "import orjson\nimport json\nprint(json.__file__)\nprint(input())")
    await prewarmed.prepare(script, os.environ)
    assert await finish(await prewarmed.take(script, os.environ), b"one\n") == (0, f"{sibling}\none\n", "")


async def test_a_process_is_used_only_for_a_file_that_imports_the_same_in_the_same_environment(
    tmp_path: Path, prewarmed: PrewarmedProcesses
) -> None:
    script = write(tmp_path, "import orjson\nprint('run')")
    other = write(tmp_path, "import anyio\nprint('run')", "other.py")
    more = write(tmp_path, "import anyio, orjson\nprint('run')", "more.py")
    await prewarmed.prepare(script, os.environ)
    assert await prewarmed.take(other, os.environ) is None
    assert await prewarmed.take(script, {**os.environ, "SETTING": "other"}) is None
    assert (await finish(await prewarmed.take(more, os.environ)))[1] == "run\n"
    assert await prewarmed.take(script, os.environ) is None


async def test_a_process_that_died_is_not_used(tmp_path: Path, prewarmed: PrewarmedProcesses) -> None:
    script = write(tmp_path, "import orjson")
    await prewarmed.prepare(script, os.environ)
    waiting = prewarmed._waiting
    assert waiting is not None
    waiting.process.kill()
    await waiting.process.wait()
    assert await prewarmed.take(script, os.environ) is None
    await prewarmed.prepare(script, os.environ)
    assert (await finish(await prewarmed.take(script, os.environ)))[0] == 0


async def test_a_waiting_process_exits_with_the_program_that_started_it(tmp_path: Path) -> None:
    script = write(tmp_path, "import orjson\nopen('run', 'w')")
    prewarmed = PrewarmedProcesses()
    await prewarmed.prepare(script, os.environ)
    waiting = prewarmed._waiting
    assert waiting is not None
    assert waiting.process.stdin is not None
    await waiting.process.stdin.aclose()  # as when the program is killed
    with anyio.fail_after(90):
        assert await waiting.process.wait() == 0
    await prewarmed.aclose()
    assert not (tmp_path / "run").exists()


async def test_a_host_launches_a_server_in_a_prewarmed_process(tmp_path: Path, prewarmed: PrewarmedProcesses) -> None:
    script = write(tmp_path, SERVER)
    await prewarmed.prepare(script, os.environ)
    command = Command(sys.executable, (str(script),), env=dict(os.environ), cwd=tmp_path)
    host = Host({"it": command})
    host.servers.launch_with(prewarmed.launch)
    async with host:

        async def call_loaded() -> str:
            await host.servers["it"].ready(90)
            call = await call_tool(host, "it", "loaded", {})
            assert call.result is not None
            return str(call.result["content"][0]["text"])

        assert await call_loaded() == f"{script} True"
        host.servers["it"].restart()
        await host.servers["it"].ready()
        assert await call_loaded() == f"{script} False"


@pytest.mark.parametrize(
    ("command", "args", "cwd"),
    [
        ("python3.99", ("server.py",), "."),
        (sys.executable, ("-m", "server"), "."),
        (sys.executable, ("server.py",), ".."),
    ],
    ids=["another Python", "not a file", "another folder"],
)
async def test_other_commands_are_not_launched_in_a_prewarmed_process(
    command: str, args: tuple[str, ...], cwd: str, tmp_path: Path, prewarmed: PrewarmedProcesses
) -> None:
    script = write(tmp_path, "import orjson")
    await prewarmed.prepare(script, os.environ)
    words = tuple(str(script) if word == "server.py" else word for word in args)
    assert await prewarmed.launch(Command(command, words, cwd=(tmp_path / cwd).resolve()), os.environ) is None
    process = await prewarmed.launch(Command(sys.executable, (str(script),), cwd=tmp_path), os.environ)
    assert (await finish(process))[0] == 0
