"""The program of examples/production: its Compose file, and two workers of it behind its nginx."""

import fnmatch
import json
import os
import re
import runpy
import shlex
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import psycopg
import pytest
import yaml
from anyio.abc import Process
from playwright.async_api import Browser, expect

from fanlight.host import Timeouts
from support.browser import problems_of, view_frame
from support.child import stopping
from support.databases import PostgresServer, RedisServer
from support.docs import ROOT
from support.nginx import nginx

FOLDER = ROOT / "examples" / "production"
NGINX = (FOLDER / "nginx.conf").read_text(encoding="utf-8")
PROGRAM = (FOLDER / "app.py").read_text(encoding="utf-8")
DOCKERFILE = (FOLDER / "Dockerfile").read_text(encoding="utf-8")
COMPOSE_TEXT = (FOLDER / "compose.yaml").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load(COMPOSE_TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
WORKERS = ("worker-1", "worker-2")


def command() -> list[str]:
    """Return the command of the image."""
    (text,) = re.findall(r"^CMD (\[.*\])$", DOCKERFILE.replace("\\\n", ""), re.MULTILINE | re.DOTALL)
    words: list[str] = json.loads(text)
    return words


def option(name: str) -> str:
    words = command()
    return words[words.index(name) + 1]


def seconds(text: str) -> int:
    return int(text.removesuffix("s"))


def test_the_services_are_two_workers_and_what_they_need() -> None:
    assert set(SERVICES) == {*WORKERS, "nginx", "postgres", "valkey"}
    assert SERVICES["worker-1"] == SERVICES["worker-2"]
    for name, service in SERVICES.items():
        assert service["restart"] == "unless-stopped", name
        assert {"test", "interval", "timeout", "retries"} <= set(service["healthcheck"]), name
        for needed, condition in service.get("depends_on", {}).items():
            assert needed in SERVICES
            assert condition == {"condition": "service_healthy"}
    assert set(SERVICES["worker-1"]["depends_on"]) == {"postgres", "valkey"}
    assert set(SERVICES["nginx"]["depends_on"]) == set(WORKERS)
    assert {volume.partition(":")[0] for volume in SERVICES["postgres"]["volumes"]} == set(COMPOSE["volumes"])
    assert [port.partition(":")[0] for port in SERVICES["nginx"]["ports"]] == ["127.0.0.1"]


def test_the_variables_are_those_that_the_program_reads() -> None:
    read = set(re.findall(r'os\.environ(?:\.get\(|\[)"(\w+)"', PROGRAM))
    assert set(SERVICES["worker-1"]["environment"]) == read
    example = (FOLDER / ".env.example").read_text(encoding="utf-8")
    assert set(re.findall(r"\$\{(\w+)", COMPOSE_TEXT)) == set(re.findall(r"^(\w+)=$", example, re.MULTILINE))


def test_store_and_bus_are_services() -> None:
    environment = SERVICES["worker-1"]["environment"]
    assert environment["CHAT_STORE"].endswith("@postgres/chat")
    assert environment["CHAT_STORE"].startswith(f"postgresql://{SERVICES['postgres']['environment']['POSTGRES_USER']}:")
    assert environment["CHAT_BUS"] == "redis://valkey:6379/0"


def test_nginx_leads_to_the_port_of_each_worker() -> None:
    port = option("--port")
    assert re.findall(r"^    server (\S+)", NGINX, re.MULTILINE) == [f"{worker}:{port}" for worker in WORKERS]
    assert f"EXPOSE {port}\n" in DOCKERFILE
    assert f":{port}/apps/health/ready" in " ".join(SERVICES["worker-1"]["healthcheck"]["test"])
    (published,) = SERVICES["nginx"]["ports"]
    listens = published.rpartition(":")[2]
    assert f"listen {listens};" in NGINX
    assert f":{listens}/apps/health/ready" in " ".join(SERVICES["nginx"]["healthcheck"]["test"])
    (mounted,) = SERVICES["nginx"]["volumes"]
    assert (FOLDER / mounted.partition(":")[0]).exists()


def test_a_worker_may_drain_before_it_is_killed() -> None:
    assert seconds(SERVICES["worker-1"]["stop_grace_period"]) > Timeouts().drain


def test_the_image_has_the_files_that_it_copies() -> None:
    build = SERVICES["worker-1"]["build"]
    assert (FOLDER / build["context"]).resolve() == ROOT
    assert (ROOT / build["dockerfile"]) == FOLDER / "Dockerfile"
    first, *kept = (FOLDER / "Dockerfile.dockerignore").read_text(encoding="utf-8").split()
    assert first == "*"
    for words in re.findall(r"^COPY (.*)$", DOCKERFILE, re.MULTILINE):
        for source in shlex.split(words)[:-1]:
            assert (ROOT / source).exists()
            assert any(fnmatch.fnmatch(f"!{source}", pattern) for pattern in kept), source


@asynccontextmanager
async def worker(port: int, environment: dict[str, str]) -> AsyncIterator[Process]:
    """Run the command of the image on another port."""
    words = command()
    words[words.index("--host") + 1] = "127.0.0.1"
    words[words.index("--port") + 1] = str(port)
    path = str(ROOT / "src")
    process = await anyio.open_process(
        [sys.executable, "-m", *words],
        cwd=FOLDER,
        env={**os.environ, "PYTHONPATH": path, **environment},
        stdout=None,
        stderr=None,
    )
    async with stopping(process):
        async with httpx2.AsyncClient() as http:
            with anyio.fail_after(120):
                while not await is_ready(http, port):
                    assert process.returncode is None
                    await anyio.sleep(0.1)
        yield process


async def is_ready(http: httpx2.AsyncClient, port: int) -> bool:
    try:
        return (await http.get(f"http://127.0.0.1:{port}/apps/health/ready")).status_code == 200
    except httpx2.TransportError:
        return False


def free_ports(count: int) -> list[int]:
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in listeners]
    for listener in listeners:
        listener.close()
    return ports


@pytest.mark.anyio
@pytest.mark.browser
@pytest.mark.process
async def test_a_view_goes_on_when_a_worker_behind_nginx_is_killed(
    tmp_path: Path, browser: Browser, postgres_server: PostgresServer, redis_server: RedisServer
) -> None:
    """Goes red without the bus: the View of the killed worker would not go on."""
    postgres_server.clear()
    redis_server.clear()
    ports = free_ports(2)
    environment = {"CHAT_STORE": postgres_server.url, "CHAT_BUS": redis_server.url, "CHAT_SECRET": "secret"}
    replace = {f"{name}:8000": f"127.0.0.1:{port}" for name, port in zip(WORKERS, ports, strict=True)}
    async with (
        worker(ports[0], environment) as first,
        worker(ports[1], environment) as second,
        nginx(tmp_path, {"conf.d/default.conf": NGINX}, replace, ports=["8080;"]) as port,
    ):
        page = await browser.new_page()
        problems = problems_of(page)
        await page.goto(f"http://localhost:{port}/")
        await page.get_by_label("Your name").fill("alice")
        await page.get_by_role("button", name="Sign in").click()
        await page.get_by_role("button", name="What is on my to-do list?").click()
        view = await view_frame(page)
        field = view.get_by_role("textbox")
        await field.fill("typed")
        assert problems == []
        worker_with_page = await holder(postgres_server)
        first.send_signal(signal.SIGKILL)
        await first.wait()
        async with worker(ports[0], environment):
            second.send_signal(signal.SIGKILL)
            await second.wait()
            with anyio.fail_after(60):
                while await holder(postgres_server) in (None, worker_with_page):  # noqa: ASYNC110  no event for it
                    await anyio.sleep(0.1)
            # The View was not loaded again.
            await expect(field).to_have_value("typed")
        await page.close()


@pytest.mark.anyio
@pytest.mark.process
async def test_users_see_neither_the_views_nor_the_lists_of_each_other(
    tmp_path: Path, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Goes red if all users share the process of a server that keeps its state in memory."""
    redis_server.clear()
    monkeypatch.setenv("CHAT_STORE", f"sqlite:///{tmp_path}/host.db")
    monkeypatch.setenv("CHAT_BUS", redis_server.url)
    monkeypatch.setenv("CHAT_SECRET", "secret")
    names = runpy.run_path(str(FOLDER / "app.py"))
    web = httpx2.ASGITransport(app=names["app"])
    async with names["host"] as host:
        for user in ("alice", "bob"):
            await (await host.servers.connect("todo", user)).ready(60)
        alice, bob = (host.conversation("main", user=user) for user in ("alice", "bob"))
        await alice.call_tool("todo__add_todo", {"text": "a secret"})
        assert "a secret" in (await alice.call_tool("todo__show_todos", {})).text
        assert "a secret" not in (await bob.call_tool("todo__show_todos", {})).text
        forged = f"alice.{names['signed']('bob').rpartition('.')[2]}"
        expected: dict[str, tuple[str | None, int]] = {
            names["signed"]("alice"): ("alice", 2),
            names["signed"]("bob"): ("bob", 1),
            forged: (None, 0),
            "alice": (None, 0),
            "alice.": (None, 0),
        }
        for cookie, views in expected.items():
            async with httpx2.AsyncClient(transport=web, base_url="http://localhost:8080") as browser:
                browser.cookies.set("user", cookie)
                found = (await browser.get("/views")).json()
                assert (found["user"], len(found["views"])) == views


async def holder(server: PostgresServer) -> str | None:
    """Return the worker that shows the only View, if a page has connected to it."""
    async with await psycopg.AsyncConnection.connect(server.url) as connection:
        rows = await (await connection.execute("select holder from fanlight.views where shown = 1")).fetchall()
    return rows[0][0] if rows else None
