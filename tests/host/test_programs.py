"""The programs of the how-to, each served as it says, seen by a page and by who stops them."""

import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2
import pytest
from anyio.abc import Process
from websockets.asyncio.client import ClientConnection, connect

import fanlight
from support.connected import assert_gone, watch
from support.docs import ROOT, write_files

pytestmark = [pytest.mark.anyio, pytest.mark.process]

# uvicorn's own command, but for a port that is free and told.
SERVE = """
import socket, sys, uvicorn
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(sys.argv[1])).run(sockets=[listener])
"""
SETTINGS = """
SECRET_KEY = "of the test"
ALLOWED_HOSTS = ["localhost"]
ROOT_URLCONF = "mysite.urls"
"""
URLS = """
from django.urls import path
from mysite.views import clock
urlpatterns = [path("", clock)]
"""
HELLO = {"protocolVersion": "2026-01-26", "appInfo": {"name": "V", "version": "1"}, "appCapabilities": {}}


@dataclass
class Program:
    process: Process
    port: int

    async def get(self, path: str, name: str = "localhost") -> httpx2.Response:
        async with httpx2.AsyncClient(timeout=60) as client:
            headers = {"host": f"{name}:{self.port}"}
            return await client.get(f"http://127.0.0.1:{self.port}{path}", headers=headers)

    async def first_page(self) -> httpx2.Response:
        """Return the first page. While its server starts on a busy machine, the program answers with an error."""
        with anyio.fail_after(90):
            while (response := await self.get("/")).status_code == 500:  # noqa: ASYNC110  there is no event for it
                await anyio.sleep(0.1)
        return response

    @asynccontextmanager
    async def page(self) -> AsyncIterator["Page"]:
        origin: Any = f"http://localhost:{self.port}"
        address = f"ws://localhost:{self.port}/apps/socket"
        async with connect(address, host="127.0.0.1", port=self.port, origin=origin, proxy=None) as socket:
            yield Page(socket)

    def children(self) -> list[int]:
        found: list[int] = []
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            with suppress(FileNotFoundError):  # a thread that has ended meanwhile
                found += map(int, (task / "children").read_text().split())
        return found


@dataclass
class Page:
    socket: ClientConnection

    async def send(self, **frame: Any) -> None:
        await self.socket.send(json.dumps(frame))

    async def say(self, **message: Any) -> None:
        """Say what the View would say."""
        await self.send(type="message", message={"jsonrpc": "2.0", **message})

    async def hear(self) -> dict[str, Any]:
        with anyio.fail_after(20):
            frame: dict[str, Any] = json.loads(await self.socket.recv())
        return frame


@asynccontextmanager
async def served(folder: Path, target: str) -> AsyncIterator[Program]:
    write_files(ROOT / "README.md", folder)
    write_files(ROOT / "docs" / "how-to" / "host-apps.md", folder)
    (folder / "mysite" / "settings.py").write_text(SETTINGS, encoding="utf-8")
    (folder / "mysite" / "urls.py").write_text(URLS, encoding="utf-8")
    # "python server.py" means the Python of this test, and the program uses its Fanlight.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(Path(fanlight.__file__).parents[1])}
    command = [sys.executable, "-c", SERVE, target]
    async with await anyio.open_process(command, cwd=folder, env=environment, stderr=None) as process:
        try:
            assert process.stdout is not None
            with anyio.fail_after(60):
                port = int(await process.stdout.receive())
            yield Program(process, port)
        finally:
            if process.returncode is None:
                process.terminate()
                with anyio.fail_after(60):
                    await process.wait()


@pytest.fixture(
    scope="module",
    params=["app:app", "fastapi_app:app", "mysite.asgi:application"],
    ids=["Starlette", "FastAPI", "Django"],
)
async def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Program]:
    """A program of the how-to, which its tests share. The last of them stops it."""
    async with served(tmp_path_factory.mktemp("program"), request.param) as program:
        yield program


async def test_a_program_shows_a_view_and_keeps_its_routes_and_names_to_itself(program: Program) -> None:
    html = (await program.first_page()).text
    found = re.search(r'<mcp-app view="([\w-]+)" token="([\w-]+)" src="/apps">', html)
    assert found is not None, html
    assert (await program.get("/nothing")).status_code == 404
    element = await program.get("/apps/mcp-app.js")
    assert element.headers["content-type"].startswith("text/javascript")

    async with program.page() as page:
        await page.send(type="open", view=found[1], token=found[2])
        shown = await page.hear()
        assert shown["type"] == "show", shown
        await page.say(id=1, method="ui/initialize", params=HELLO)
        assert (await page.hear())["message"]["id"] == 1
        await page.say(method="ui/notifications/initialized")
        given, came = [(await page.hear())["message"]["params"] for _ in range(2)]
        assert given["arguments"] == {"utc_offset": 9}
        assert came["structuredContent"]["zone"] == "UTC+09:00"

    document = urlsplit(shown["document"])
    assert document.hostname is not None
    assert "<!doctype html>" in (await program.get(document.path, document.hostname)).text.lower()
    for name in ("sandbox.localhost", document.hostname, "other.sandbox.localhost"):
        for path in ("/", "/apps/mcp-app.js", "/nothing"):
            response = await program.get(path, name)
            assert response.status_code in (404, 421)
            assert "mcp-app" not in response.text


async def test_a_program_that_stops_takes_its_servers_with_it(program: Program) -> None:
    assert (await program.first_page()).status_code == 200
    children = program.children()
    assert len(children) == 1
    watched = watch(children)
    program.process.send_signal(signal.SIGTERM)
    with anyio.fail_after(60):
        assert await program.process.wait() == -signal.SIGTERM  # uvicorn ends by the signal when all is done
    await assert_gone(watched)
