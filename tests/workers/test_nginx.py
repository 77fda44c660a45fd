"""Two workers behind nginx, with the configuration of the documentation."""

from pathlib import Path

import pytest

from support.chat import Chat, eventually
from support.nginx import documented_for_two_workers, proxied
from workers.conftest import Clusters

pytestmark = [pytest.mark.anyio, pytest.mark.browser, pytest.mark.process]

# The control requests of tests come to 127.0.0.1.
OPTIONS = {"sandbox_origin": "https://sandbox.example.net", "hosts": ["chat.example.com", "127.0.0.1"]}


async def test_a_view_goes_on_behind_nginx_after_kill_9_of_each_worker(clusters: Clusters, tmp_path: Path) -> None:
    """Each in turn, so that the page moves from one to the other and back."""
    cluster = clusters("postgres")
    first, second = (cluster.add(name, options=OPTIONS) for name in ("first", "second"))
    try:
        await cluster.start("first", "second")
        replace = {"server 127.0.0.1:8001;": f"server 127.0.0.1:{second.port};"}
        async with (
            proxied(tmp_path, first.port, documented_for_two_workers(), replace) as browser,
            Chat.opened(cluster, browser, address="https://chat.example.com") as chat,
        ):
            call, id = await chat.begin("first")
            view = await chat.shown(id)
            await view.type("typed by a user")
            await first.control("run", call=call, arguments={"text": chat.text("x")})
            await view.has_received("input", "result")
            for worker in (first, second):
                port = worker.port
                worker.kill()
                text = chat.text(f"without {worker.name}")
                outcome = await view.write(text)
                # The page may have sent it to the worker that was just killed.
                assert outcome == f"ok: {text}" or "so it was not repeated" in outcome
                worker.start(port)
                await eventually(worker.is_ready)
            assert await view.write(chat.text("after")) == f"ok: {chat.text('after')}"
            await view.was_not_loaded_again("typed by a user")
            await view.has_received("input", "result")
            assert chat.repeated() == []
    finally:
        await cluster.remove("first", "second")
