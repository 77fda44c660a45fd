"""The how-to guides about shipping an app: their packages are built, their servers run."""

import json
import os
import re
import sys
import tomllib
import zipfile
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import httpx
import pytest

from support.docs import ROOT, write_files
from support.wire import UI, over_stdio, serving

HOW_TO = ROOT / "docs" / "how-to"

pytestmark = pytest.mark.anyio


async def _run(folder: Path, *command: str) -> None:
    # uv_build starts its program by name.
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    with anyio.fail_after(60):
        done = await anyio.run_process(command, cwd=folder, env={**os.environ, "PATH": path}, check=False)
    assert done.returncode == 0, done.stderr.decode()


# A wheel


def _pyproject(files: dict[str, Path], other: str | None) -> str:
    """Return pyproject.toml with the tables of another build backend, as the page says."""
    text = files["pyproject.toml"].read_text(encoding="utf-8")
    if other is None:
        return text
    of_project = re.search(r"^\[project\].*?(?=^\[tool)", text, re.MULTILINE | re.DOTALL)
    assert of_project
    return f"{of_project[0]}\n{files[other].read_text(encoding='utf-8')}"


@pytest.mark.process
@pytest.mark.parametrize("other", [None, "setuptools.toml", "uv.toml"], ids=["hatchling", "setuptools", "uv_build"])
async def test_a_wheel_of_each_build_backend_contains_the_view_and_serves_it(other: str | None, tmp_path: Path) -> None:
    files = write_files(HOW_TO / "package-an-app.md", tmp_path)
    files["pyproject.toml"].write_text(_pyproject(files, other), encoding="utf-8")
    backend = tomllib.loads(files["pyproject.toml"].read_text(encoding="utf-8"))["build-system"]["build-backend"]
    (tmp_path / "dist").mkdir()
    await _run(tmp_path, sys.executable, "-c", f"import {backend} as backend; backend.build_wheel('dist')")
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        assert "tides/tides.html" in archive.namelist()
        (entry_points,) = (name for name in archive.namelist() if name.endswith("entry_points.txt"))
        assert "tides = tides.server:main" in re.sub(r"\s*=\s*", " = ", archive.read(entry_points).decode())
        archive.extractall(installed)
    program = tmp_path / "run.py"
    program.write_text(f"import sys; sys.path.insert(0, {str(installed)!r})\nfrom tides.server import main\nmain()\n")
    async with over_stdio(program, "2025-11-25", UI) as client:
        assert (await client.call("show_tides", harbour="Dover"))["structuredContent"]["high"] == "14:20"
        assert "High water" in (await client.read("ui://tides/tides"))["text"]


# A desktop bundle


@pytest.mark.process
async def test_the_desktop_bundle_is_valid_has_no_local_environment_and_serves_the_tools_of_the_manifest(
    tmp_path: Path,
) -> None:
    files = write_files(HOW_TO / "make-a-desktop-bundle.md", tmp_path / "bundle")
    tool = [str(Path(sys.executable).with_name("node")), str(ROOT / "node_modules/@anthropic-ai/mcpb/dist/cli/cli.js")]
    packed = tmp_path / "tides.mcpb"
    for left_by_a_run in (".venv/pyvenv.cfg", "__pycache__/server.pyc", "uv.lock"):
        path = tmp_path / "bundle" / left_by_a_run
        path.parent.mkdir(exist_ok=True)
        path.write_text("", encoding="utf-8")
    await _run(tmp_path, *tool, "validate", str(files["manifest.json"]))
    await _run(tmp_path, *tool, "pack", str(tmp_path / "bundle"), str(packed))
    with zipfile.ZipFile(packed) as archive:
        assert set(archive.namelist()) == {"manifest.json", "pyproject.toml", "server.py", "tides.html", "uv.lock"}
    manifest = json.loads(files["manifest.json"].read_text(encoding="utf-8"))
    async with over_stdio(files[manifest["server"]["entry_point"]], "2025-11-25", UI) as client:
        assert set(await client.tools()) == {tool["name"] for tool in manifest["tools"]}


# HTTP


@pytest.fixture
def deployed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """The program of the page, as a module's namespace."""
    files = write_files(HOW_TO / "deploy-over-http.md", tmp_path)
    monkeypatch.setenv("APP_URL", "https://notes.example.com/mcp")
    monkeypatch.setenv("APP_TOKENS", "secret=ada,other=bob")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "server", "__file__": str(files["server.py"])}
    exec(compile(files["server.py"].read_text(encoding="utf-8"), files["server.py"], "exec"), namespace)
    return namespace


async def _rpc(
    client: httpx.AsyncClient, token: str, method: str, session: str = "", **params: object
) -> httpx.Response:
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    if session:
        headers["Mcp-Session-Id"] = session
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return await client.post("/mcp", json=body, headers=headers)


async def _session(client: httpx.AsyncClient, token: str) -> str:
    info = {"name": "test", "version": "1"}
    response = await _rpc(client, token, "initialize", protocolVersion="2025-11-25", capabilities=UI, clientInfo=info)
    response.raise_for_status()
    return response.headers["mcp-session-id"]


def _result(response: httpx.Response) -> dict[str, object]:
    response.raise_for_status()
    (data,) = re.findall(r"^data: (\{.*)$", response.text, re.MULTILINE)
    result: dict[str, object] = json.loads(data)["result"]
    return result


async def test_the_program_behind_fastapi_wants_a_token_and_keeps_users_apart(deployed: dict[str, object]) -> None:
    with serving(deployed["program"]) as address:
        public = {"Host": "notes.example.com"}
        async with httpx.AsyncClient(base_url=address, headers=public, timeout=20) as client:
            assert (await client.get("/health")).json() == {"ok": True}
            refused = await _rpc(client, "wrong", "tools/list")
            assert refused.status_code == 401
            where = re.search(r'resource_metadata="([^"]+)"', refused.headers["www-authenticate"])
            assert where
            metadata = (await client.get(urlsplit(where[1]).path)).json()
            assert metadata["resource"] == "https://notes.example.com/mcp"
            ada, bob = await _session(client, "secret"), await _session(client, "other")
            listed = _result(await _rpc(client, "secret", "tools/list", ada))
            assert "ui://notes/notes" in json.dumps(listed)
            await _rpc(client, "secret", "tools/call", ada, name="add_note", arguments={"text": "buy tea"})
            mine = _result(await _rpc(client, "secret", "tools/call", ada, name="show_notes", arguments={}))
            theirs = _result(await _rpc(client, "other", "tools/call", bob, name="show_notes", arguments={}))
            assert mine["structuredContent"] == {"notes": ["buy tea"]}
            assert theirs["structuredContent"] == {"notes": []}


async def test_the_program_behind_fastapi_refuses_another_host_name(deployed: dict[str, object]) -> None:
    with serving(deployed["program"]) as address:
        async with httpx.AsyncClient(base_url=address, timeout=20) as client:
            assert (await _rpc(client, "secret", "tools/list")).status_code == 421


def test_the_container_installs_and_starts_what_the_page_has(tmp_path: Path) -> None:
    files = write_files(HOW_TO / "deploy-over-http.md", tmp_path)
    lines = files["Dockerfile"].read_text(encoding="utf-8").splitlines()
    copied = [name for line in lines if line.startswith("COPY") for name in line.split()[1:-1]]
    assert {*copied} == {*files} - {"Dockerfile"}
    requirements = files["requirements.txt"].read_text(encoding="utf-8").split()
    of_page = "pip install " + " ".join(requirements)
    assert of_page in (HOW_TO / "deploy-over-http.md").read_text(encoding="utf-8")
    (command,) = (json.loads(line.removeprefix("CMD ")) for line in lines if line.startswith("CMD "))
    assert command[:2] == ["uvicorn", "server:program"]
