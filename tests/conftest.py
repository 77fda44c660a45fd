import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect
from sniffio import current_async_library_cvar

from fanlight.testing.browser import BrowserMissingError
from support.browser import PATIENCE, chromium
from support.databases import PostgresServer, RedisServer, running_postgres, running_redis

# The Node inside Playwright needs libatomic1, which a bare Debian lacks; the one that setup.py links needs nothing.
if (node := Path(sys.executable).with_name("node")).exists():
    os.environ.setdefault("PLAYWRIGHT_NODEJS_PATH", str(node))

# The same engine without the windows around it: a page costs a fifth of the processor time. It does not scroll the page
# for a click inside a View, so tests open pages that are tall enough. The tests of attacks use the browser that people
# have (`support.browser.profile`).
if shell := shutil.which("chromium-headless-shell"):
    os.environ.setdefault("FANLIGHT_BROWSER", shell)

expect.set_options(timeout=1000 * PATIENCE)


# Programs that tests start inherit this; under nohup they would ignore the signal.
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return how many processes `-n auto` starts: three for two cores.

    With one for each core, the cores are idle for a third of the time: tests in a browser wait for it, and for timers.
    """
    cores = os.cpu_count() or 1
    return cores + cores // 2


# `make quick` runs the tests that are marked neither `browser` nor `process`


class _Processes:
    """Fails a test that starts a process and is not marked so."""

    def __init__(self) -> None:
        self.item: pytest.Item | None = None
        self.started: list[str] = []

    def audit(self, event: str, arguments: tuple[object, ...]) -> None:
        if event == "subprocess.Popen" and self.item is not None and not _is_slow(self.item):
            self.started.append(str(arguments[1]))


_processes = _Processes()
sys.addaudithook(_processes.audit)


def _is_slow(item: pytest.Item) -> bool:
    return any(item.iter_markers("process")) or any(item.iter_markers("browser"))


_BROWSER_FIXTURES = {"browser", "context", "outcomes", "shimmed"}
_PROCESS_FIXTURES = {"raw", "child", "published", "pytester", "site", "redis_server", "postgres_server"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if fixtures & _BROWSER_FIXTURES:
            item.add_marker(pytest.mark.browser)
        if fixtures & _PROCESS_FIXTURES:
            item.add_marker(pytest.mark.process)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    _processes.item = item
    _processes.started.clear()
    try:
        return (yield)
    finally:
        _processes.item = None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    yield
    if _processes.started:
        pytest.fail(f"starts a process, so mark it with @pytest.mark.process: {_processes.started[0]}", pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Iterator[Any]:
    """Let tests run an event loop of their own, as commands do.

    As long as the loop of the other tests exists, the plugin of anyio says that asyncio runs, if sniffio is installed.
    """
    with _no_event_loop():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup() -> Iterator[Any]:
    """Let fixtures do the same."""
    with _no_event_loop():
        return (yield)


@contextmanager
def _no_event_loop() -> Iterator[None]:
    known = current_async_library_cvar.get()
    current_async_library_cvar.set(None)
    try:
        yield
    finally:
        current_async_library_cvar.set(known)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """One event loop for all tests, so that they can share a browser."""
    return "asyncio"


@pytest.fixture(scope="session")
async def browser(anyio_backend: str) -> AsyncIterator[Browser]:
    """The browser of this test run. Each `new_page` has a context of its own: cookies, storage, cache."""
    try:
        async with chromium() as launched:
            yield launched
    except BrowserMissingError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture
async def page(browser: Browser) -> AsyncIterator[Page]:
    """A page in a context of its own, closed after the test."""
    page = await browser.new_page()
    yield page
    await page.close()


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis server of this test run, and of this process of it."""
    with running_redis(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A PostgreSQL server of this test run, and of this process of it."""
    with running_postgres() as server:
        yield server
