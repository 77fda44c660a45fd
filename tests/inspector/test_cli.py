import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from fanlight import __version__
from fanlight.cli import main
from fanlight.dev.prewarm import PrewarmedProcesses
from fanlight.dev.serving import PageServer
from fanlight.dev.targets import servers
from support.inspecting import mirror, running


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"fanlight {__version__}\n"


def test_without_a_command_the_help_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "show the apps of MCP servers in a browser" in capsys.readouterr().out


def test_a_missing_server_file_is_a_one_line_error_with_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dev", "nothing.py"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("fanlight dev: nothing.py does not exist.")
    assert error.count("\n") == 1


@pytest.mark.process
def test_printing_the_version_imports_no_heavy_modules() -> None:
    code = (
        "import sys; sys.argv = ['fanlight', '--version']; from fanlight.cli import main; main(); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert not {"mcp", "starlette", "uvicorn", "pydantic", "anyio"} & set(done.stdout.split())


@pytest.mark.process
def test_startup_imports_no_heavy_modules() -> None:
    code = "import sys; import fanlight.inspector.startup; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert not {"mcp", "starlette", "uvicorn", "pydantic"} & set(done.stdout.split())


def test_a_missing_package_is_a_one_line_error_that_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    for name in ("fanlight.inspector.server", "fanlight.dev.serving"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert main(["dev"]) == 3
    expected = "fanlight dev needs packages that are not installed (uvicorn): pip install 'fanlight[dev]'\n"
    assert capsys.readouterr().err == expected


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
@pytest.mark.process
def test_a_signal_exits_with_code_0_and_removes_temporary_files(name: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "fanlight.cli", "dev", "--no-open", "--port", "0", mirror(tmp_path)]
    kept = tmp_path / "kept"
    kept.mkdir()
    environment = {**os.environ, "TMPDIR": str(kept)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment) as process:
        assert process.stdout is not None
        try:
            output = b"".join(iter(process.stdout.readline, b"  Stop with Ctrl+C.\n"))
            process.send_signal(getattr(signal, name))
            output += process.stdout.read()
            assert process.wait(30) == 0
        finally:
            process.kill()
    assert b"Traceback" not in output
    assert b"is in use" not in output  # 0 is any free port
    assert list(kept.iterdir()) == []


@pytest.mark.anyio
async def test_a_signal_during_startup_is_followed_by_an_orderly_shutdown(monkeypatch: pytest.MonkeyPatch) -> None:
    # A signal to uvicorn sets it for the whole process, and later event streams in these tests would end at once.
    monkeypatch.setattr("sse_starlette.sse.AppStatus.should_exit", False)
    events: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        signal.raise_signal(signal.SIGTERM)
        await asyncio.sleep(0)  # where a cancellation would end the startup
        await send({"type": "lifespan.startup.complete"})
        events.append((await receive())["type"])
        await send({"type": "lifespan.shutdown.complete"})

    server = PageServer(uvicorn.Config(app, lifespan="on", port=0, log_level="critical"), lambda: None)
    with server.stopped_by_signals():
        await asyncio.wait_for(server.serve(), 20)
    assert events == ["lifespan.shutdown"]


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
@pytest.mark.process
def test_a_signal_is_handled_even_if_sigint_is_ignored(name: str) -> None:
    code = f"""
import signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
from fanlight.signals import handle_termination
with handle_termination():
    signal.raise_signal(signal.{name})
    time.sleep(0.01)
    print("deaf")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == ""
    assert "KeyboardInterrupt" in done.stderr


@pytest.mark.process
def test_a_changed_server_is_started_in_a_prewarmed_process(tmp_path: Path) -> None:
    folder = Path(mirror(tmp_path))
    prewarmed = PrewarmedProcesses()
    with running(servers([str(folder)]), prewarmed=prewarmed) as (inspector, _):
        server = inspector.host.servers["mirror"]
        wait_until(lambda: server.status.state == "ready" and prewarmed._waiting is not None)
        waiting = prewarmed._waiting
        script = folder / "server.py"
        script.write_text(f"{script.read_text('utf-8')}\n# changed\n", encoding="utf-8")
        wait_until(lambda: prewarmed._waiting is not waiting)
        wait_until(lambda: server.status.state == "ready")
        assert waiting is not None
        assert waiting.process.returncode is None  # it is the server now
    wait_until(lambda: waiting.process.returncode is not None)


def wait_until(holds: Callable[[], bool]) -> None:
    for _ in range(600):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("it did not happen")
