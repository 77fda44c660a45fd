"""Pythons that are kept ready to run a server."""

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from anyio.abc import Process

from fanlight.dev.prewarm import Spares, imports
from fanlight.host import Host
from fanlight.host.upstream.config import Command

pytestmark = [pytest.mark.anyio, pytest.mark.process]

SERVER = """
from mcp.server import MCPServer

server = MCPServer("spare")


@server.tool()
def loaded() -> str:
    import sys

    return f"{sys.argv[0]} {'spare_python' in ' '.join(sys.orig_argv)}"


server.run()
"""


@pytest.fixture
async def spares() -> AsyncIterator[Spares]:
    made = Spares()
    yield made
    await made.aclose()


def written(folder: Path, text: str, name: str = "server.py") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


async def ended(process: Process | None, said: bytes = b"") -> tuple[int, str, str]:
    """Say something to a process, and return its exit code, its output, and its errors."""
    assert process is not None
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    with anyio.fail_after(30):
        await process.stdin.send(said or b"\n")
        await process.stdin.aclose()
        out = b"".join([piece async for piece in process.stdout])
        errors = b"".join([piece async for piece in process.stderr])
        code = await process.wait()
        await process.aclose()
    return code, out.decode(), errors.decode()


def test_only_what_a_file_imports_of_others_before_all_else_is_imported_in_advance(tmp_path: Path) -> None:
    (tmp_path / "anyio").mkdir()  # one's own, which hides the installed one
    script = written(
        tmp_path,
        '"""Words."""\n'
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
    assert imports(written(tmp_path, "import orjson\nthis is no Python")) == ()
    assert imports(tmp_path / "missing.py") == ()


async def test_a_file_runs_as_if_python_had_been_started_for_it(tmp_path: Path, spares: Spares) -> None:
    script = written(
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
    written(tmp_path, "word = 'near'", "near.py")
    environment = {**os.environ, "SETTING": "set"}
    await spares.prepare(script, environment)
    code, out, errors = await ended(await spares.take(script, environment), b"one\ntwo\n")
    assert (code, errors) == (7, "")
    first, rest = out.split("\n", 1)
    assert first == f"__main__ {script} ['{script}'] {tmp_path} {tmp_path} near set"
    assert rest == "one\ntwo\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import orjson\ndef f():\n    raise ValueError('no')\nf()\n", "ValueError: no"),
        ("import orjson\nimport not_there\n", "No module named 'not_there'"),
    ],
)
async def test_an_error_is_told_as_python_tells_it(text: str, said: str, tmp_path: Path, spares: Spares) -> None:
    script = written(tmp_path, text)
    await spares.prepare(script, os.environ)
    code, _, errors = await ended(await spares.take(script, os.environ))
    assert code == 1
    assert errors.startswith(f'Traceback (most recent call last):\n  File "{script}", line')
    assert said in errors
    assert "spare_python" not in errors


async def test_a_module_beside_the_file_hides_others_as_it_always_does(tmp_path: Path, spares: Spares) -> None:
    near = written(tmp_path, "class JSONDecodeError(ValueError): pass", "json.py")
    script = written(tmp_path, "import orjson\nimport json\nprint(json.__file__)\nprint(input())")
    await spares.prepare(script, os.environ)
    assert await ended(await spares.take(script, os.environ), b"one\n") == (0, f"{near}\none\n", "")


async def test_it_is_taken_only_for_a_file_that_imports_the_same_in_the_same_environment(
    tmp_path: Path, spares: Spares
) -> None:
    script = written(tmp_path, "import orjson\nprint('run')")
    other = written(tmp_path, "import anyio\nprint('run')", "other.py")
    more = written(tmp_path, "import anyio, orjson\nprint('run')", "more.py")
    await spares.prepare(script, os.environ)
    assert await spares.take(other, os.environ) is None
    assert await spares.take(script, {**os.environ, "SETTING": "other"}) is None
    assert (await ended(await spares.take(more, os.environ)))[1] == "run\n"
    assert await spares.take(script, os.environ) is None


async def test_one_that_has_died_is_not_taken(tmp_path: Path, spares: Spares) -> None:
    script = written(tmp_path, "import orjson")
    await spares.prepare(script, os.environ)
    spare = spares._spare
    assert spare is not None
    spare.process.kill()
    await spare.process.wait()
    assert await spares.take(script, os.environ) is None
    await spares.prepare(script, os.environ)
    assert (await ended(await spares.take(script, os.environ)))[0] == 0


async def test_it_goes_with_the_program_that_keeps_it(tmp_path: Path) -> None:
    script = written(tmp_path, "import orjson\nopen('run', 'w')")
    spares = Spares()
    await spares.prepare(script, os.environ)
    spare = spares._spare
    assert spare is not None
    assert spare.process.stdin is not None
    await spare.process.stdin.aclose()  # as when the program is killed
    with anyio.fail_after(20):
        assert await spare.process.wait() == 0
    await spares.aclose()
    assert not (tmp_path / "run").exists()


async def test_a_host_starts_a_server_by_it(tmp_path: Path, spares: Spares) -> None:
    script = written(tmp_path, SERVER)
    await spares.prepare(script, os.environ)
    to = Command(sys.executable, (str(script),), env=dict(os.environ), cwd=tmp_path, spares=spares)
    async with Host({"spare": to}) as host:

        async def called() -> str:
            call = await host.call_tool("spare", "loaded", {})
            assert call.result is not None
            return str(call.result["content"][0]["text"])

        assert await called() == f"{script} True"
        host.servers["spare"].restart()
        await host.servers["spare"].ready()
        assert await called() == f"{script} False"
