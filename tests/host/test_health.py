"""The routes that a load balancer asks, and the metrics of a host."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from starlette.applications import Starlette

from fanlight.host import Host, MemoryStore, Timeouts
from fanlight.host.host import runtime_of
from support.calls import begin, call_tool
from support.page import Page
from support.shop import build

pytestmark = pytest.mark.anyio

HELLO = {"protocolVersion": "2026-01-26", "appInfo": {"name": "V", "version": "1"}, "appCapabilities": {}}


class Store(MemoryStore):
    """A store that can fail, or not answer."""

    problem = ""

    async def has_token(self, digest: str, view: str, now: float) -> bool:
        if self.problem == "slow":
            await anyio.sleep_forever()
        if self.problem == "broken":
            raise OSError("secret details")
        return await super().has_token(digest, view, now)


@asynccontextmanager
async def client(host: Host, *, run: bool = True) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app=host.wrap(Starlette()))
    async with httpx2.AsyncClient(transport=transport, base_url="http://10.1.2.3:8000") as http:
        if not run:
            yield http
            return
        async with host:
            yield http


async def test_a_host_that_runs_is_ready_whatever_name_it_is_asked_by() -> None:
    async with client(Host({}, store=Store())) as http:
        for address in ("/apps/health", "/apps/health/ready", "http://localhost:8000/apps/health"):
            response = await http.get(address)
            assert (response.status_code, response.json()) == (200, {"status": "ready", "reasons": []})
        assert response.headers["cache-control"] == "no-store"
        assert (await http.get("/apps/health/live")).json() == {"status": "live"}
        assert (await http.get("http://sandbox.localhost:8000/apps/health")).status_code == 404


@pytest.mark.parametrize(
    ("problem", "reason"), [("slow", "The store did not answer in 0.2 seconds."), ("broken", "The store failed.")]
)
async def test_a_host_without_its_store_is_live_and_not_ready(problem: str, reason: str) -> None:
    store = Store()
    async with client(Host({}, store=store, timeouts=Timeouts(health=0.2))) as http:
        store.problem = problem
        response = await http.get("/apps/health")
        assert (response.status_code, response.json()) == (503, {"status": "not ready", "reasons": [reason]})
        assert (await http.get("/apps/health/live")).status_code == 200


async def test_a_host_that_does_not_run_is_not_ready() -> None:
    async with client(Host({}), run=False) as http:
        response = await http.get("/apps/health/ready")
        assert (response.status_code, response.json()["reasons"]) == (503, ["The host is not running."])


READER = InMemoryMetricReader()


@pytest.fixture(scope="module", autouse=True)
def provider() -> None:
    # The provider of a process can be set once. Instruments that exist already use it from then on.
    metrics.set_meter_provider(MeterProvider([READER]))


def measured() -> dict[str, list[tuple[dict[str, Any], Any]]]:
    """Return the data points of each metric: the attributes, and the value or the number of values."""
    data = READER.get_metrics_data()
    return {
        metric.name: [
            (dict(point.attributes or {}), getattr(point, "value", None) or getattr(point, "count", 0))
            for point in metric.data.data_points
        ]
        for resource in (data.resource_metrics if data else ())
        for scope in resource.scope_metrics
        if scope.scope.name == "fanlight"
        for metric in scope.metrics
    }


def value(name: str, **attributes: str) -> float:
    points = measured().get(name, [])
    return sum(float(count) for found, count in points if attributes.items() <= found.items())


async def test_views_messages_calls_and_the_store_are_measured(tmp_path: Path) -> None:
    sessions, pages = value("fanlight.sessions"), value("fanlight.pages")
    async with Host({"shop": build("MCPServer")}, store=f"sqlite:///{tmp_path}/host.db") as host:
        call = await call_tool(host, "shop", "show_cart", {})
        page = await Page().open(host, call.view, call.token)
        await page.next()
        assert (value("fanlight.sessions"), value("fanlight.pages")) == (sessions + 1, pages + 1)
        await page.ask("ui/initialize", HELLO, id=0)
        await page.say({"method": "ui/notifications/initialized"})
        await page.say({"id": 1, "method": "made/up", "params": {}})
        await page.message()
        await page.message()
        await page.message()
        assert value("fanlight.messages") >= 3
        assert value("fanlight.request.duration", method="ui/initialize", outcome="ok") == 1
        assert value("fanlight.request.duration", method="other", outcome="error") == 1
        assert value("fanlight.call.duration", server="shop", outcome="ok") == 1
        assert value("fanlight.store.duration", operation="change", outcome="ok") >= 2
        assert value("fanlight.decisions", kind="document", outcome="allowed") >= 1
        page.disconnect()
        assert value("fanlight.pages") == pages
        begun = await begin(host, "shop", "show_cart")
        await begun.cancel("Stop")
        with anyio.move_on_after(1.2):
            await anyio.sleep_forever()
        assert value("fanlight.event_loop.delay") >= 1
        assert runtime_of(host).tasks.running
    assert value("fanlight.sessions") == sessions
