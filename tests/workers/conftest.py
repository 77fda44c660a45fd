"""Workers that tests share. A test may kill, freeze and cut off what it wants: the next one starts what is missing."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack

import pytest
from playwright.async_api import Browser

from support.chat import Chat
from support.cluster import Cluster, Kind, cluster_parts
from support.databases import PostgresServer, RedisServer, running_postgres, running_redis


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what the random faults met."""
    totals: Counter[str] = Counter()
    for report in terminalreporter.getreports("passed"):
        totals.update(dict(report.user_properties).get("faults", {}))
    if totals:
        terminalreporter.write_line(
            f"{totals['faults']} random faults: {totals['answered']} requests and calls had a result, "
            f"{totals['failed']} an error"
        )


Clusters = Callable[[Kind], Cluster]


@pytest.fixture(scope="session")
def bus_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis server for workers only: other tests empty theirs while these workers run."""
    with running_redis(tmp_path_factory.mktemp("bus")) as server:
        yield server


@pytest.fixture(scope="session")
def workers_database() -> Iterator[PostgresServer]:
    """A PostgreSQL server for workers only."""
    with running_postgres() as server:
        yield server


@pytest.fixture(scope="session")
async def clusters(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, anyio_backend: str
) -> AsyncIterator[Clusters]:
    """Returns the workers of a kind, which are started by the first test that needs them."""
    made: dict[Kind, Cluster] = {}
    with ExitStack() as stack:

        def cluster_of(kind: Kind) -> Cluster:
            if kind not in made:
                redis: RedisServer = request.getfixturevalue("bus_server")
                postgres = request.getfixturevalue("workers_database") if kind == "postgres" else None
                number = {"postgres": 0, "redis": 1}[kind]
                folder = tmp_path_factory.mktemp(f"cluster-{kind}")
                made[kind] = stack.enter_context(cluster_parts(kind, folder, redis, postgres, number))
            return made[kind]

        yield cluster_of
        for cluster in made.values():
            await cluster.remove(*cluster.workers)


@pytest.fixture(params=["postgres", "redis"])
def kind(request: pytest.FixtureRequest) -> Kind:
    """The store that workers share."""
    kind: Kind = request.param
    return kind


@pytest.fixture
async def cluster(clusters: Clusters, kind: Kind) -> Cluster:
    """Three workers, `a`, `b` and `c`, of which each takes its turn."""
    cluster = clusters(kind)
    await cluster.start("a", "b", "c")
    cluster.route()
    cluster.balancer.served.clear()
    return cluster


@pytest.fixture
async def chat(cluster: Cluster, browser: Browser) -> AsyncIterator[Chat]:
    """A conversation of alice, with pages in the browser."""
    async with Chat.opened(cluster, browser) as chat:
        yield chat
