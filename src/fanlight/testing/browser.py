"""The browser for tests: one that is installed on this machine, driven by Playwright.

Searched in this order: the program named by the variable FANLIGHT_BROWSER, the system's Chromium or Chrome, the one of
Playwright. `launch_browser` starts a browser for one block; `SharedBrowsers` keeps one for a test run.
"""

import asyncio
import os
import shutil
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self
from weakref import WeakKeyDictionary

import anyio.to_thread
from anyio.from_thread import BlockingPortal, start_blocking_portal

from fanlight.protocol.errors import LocalError

if TYPE_CHECKING:
    from playwright.async_api import Browser, Playwright

__all__ = ["BrowserMissingError", "SharedBrowsers", "find_browser", "launch_browser"]

VARIABLE: Final = "FANLIGHT_BROWSER"

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# These keep it from looking for the internet by itself, and make letters the same on every screen.
_SWITCHES: Final = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-lcd-text",
    "--font-render-hinting=none",
)


class BrowserMissingError(LocalError):
    """No browser can be started. The message says what to install."""


def find_browser() -> str | None:
    """Return the path of a browser on this machine, or None if only Playwright's own is left to try."""
    named = os.environ.get(VARIABLE)
    if named:
        found = shutil.which(named)
        if found is None:
            raise BrowserMissingError(f"{VARIABLE} is {named!r}, and there is no such program.")
        return found
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


def require_playwright() -> None:
    """Raise `BrowserMissingError` if Playwright is not installed."""
    try:
        import playwright.async_api  # noqa: F401
    except ModuleNotFoundError:
        raise BrowserMissingError("Playwright is missing: pip install 'fanlight[browser]'") from None


@asynccontextmanager
async def launch_browser(path: str | Path | None = None, switches: Sequence[str] = ()) -> AsyncIterator["Browser"]:
    """Launch a browser for a block: the one at `path`, or one that is found.

    `switches` are more options for the browser's command line. Raise `BrowserMissingError` if there is no browser.
    """
    require_playwright()
    from playwright.async_api import async_playwright

    _use_own_node()
    async with async_playwright() as playwright:
        browser = await _launch(playwright, find_browser() if path is None else str(path), switches)
        try:
            yield browser
        finally:
            await browser.close()


class SharedBrowsers:
    """The browsers of a test run: one process for each path, whichever event loops the tests run in.

    A browser of Playwright belongs to one event loop, and test runners often make a loop for each test. So the process
    is launched in a thread of its own, and each loop gets a connection to it, which closes with the loop.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._portal: BlockingPortal | None = None
        self._processes: dict[str | None, tuple[Browser, str]] = {}
        self._connections: WeakKeyDictionary[
            asyncio.AbstractEventLoop, dict[str | None, tuple[asyncio.Future[Browser], asyncio.Task[None]]]
        ] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    async def get(self, browser: "Browser | str | Path | None" = None) -> "Browser":
        """Return the shared browser at a path, or the one that is found, for the running event loop.

        A browser that already runs is returned as it is. Raises BrowserMissingError.
        """
        if not (browser is None or isinstance(browser, str | Path)):
            return browser
        path = None if browser is None else str(browser)
        loop = running_loop()
        connections = self._connections.setdefault(loop, {})
        if path in connections:
            connected = await connections[path][0]
            if connected.is_connected():
                return connected
        endpoint = await anyio.to_thread.run_sync(self._endpoint, path)
        ready: asyncio.Future[Browser] = loop.create_future()
        connections[path] = ready, loop.create_task(_connect(endpoint, ready))
        return await ready

    def _endpoint(self, path: str | None) -> str:
        """Return the address of the browser at a path; launch it first if it does not run."""
        with self._lock:
            if path not in self._processes or not self._processes[path][0].is_connected():
                self._processes[path] = self._launch(path)
            return self._processes[path][1]

    def _launch(self, path: str | None) -> "tuple[Browser, str]":
        if self._portal is None:
            self._portal = self._stack.enter_context(start_blocking_portal())
        browser = self._stack.enter_context(self._portal.wrap_async_context_manager(launch_browser(path)))
        return browser, self._portal.call(_bind, browser)


async def _bind(browser: "Browser") -> str:
    bound = await browser.bind("fanlight", host="127.0.0.1", port=0)
    return bound["endpoint"]


async def _connect(endpoint: str, ready: "asyncio.Future[Browser]") -> None:
    """Hold a connection until the event loop ends: it cancels the tasks that are left, and so this one."""
    from playwright.async_api import async_playwright

    try:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.connect(endpoint)
            ready.set_result(browser)
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                await browser.close()
    except Exception as error:
        if ready.done():
            raise
        ready.set_exception(error)


def running_loop() -> asyncio.AbstractEventLoop:
    """Return the running event loop. Raises FanlightError under trio, where Playwright does not work."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise LocalError("Playwright works with asyncio only: let anyio_backend return 'asyncio'.") from None


def _use_own_node() -> None:
    """Let Playwright use the Node beside Python, if one is there: its own needs libraries that a bare Debian lacks."""
    if (node := Path(sys.executable).with_name("node")).exists():
        os.environ.setdefault("PLAYWRIGHT_NODEJS_PATH", str(node))


async def _launch(playwright: "Playwright", path: str | None, switches: Sequence[str]) -> "Browser":
    from playwright.async_api import Error

    choices: list[dict[str, Any]] = [{"executable_path": path}] if path else [{}, {"channel": "chrome"}]
    # The browser's own sandbox does not work for root, nor on each machine for others; ours does not depend on it.
    sandboxes = [False] if getattr(os, "geteuid", lambda: 1)() == 0 else [True, False]
    reason = ""
    for choice in choices:
        for sandbox in sandboxes:
            try:
                return await playwright.chromium.launch(
                    args=[*_SWITCHES, *switches], chromium_sandbox=sandbox, **choice
                )
            except Error as error:
                reason = reason or error.message.strip().split("\n")[0]
    if path:
        raise BrowserMissingError(f"The browser {path} does not start: {reason}")
    raise BrowserMissingError(
        "No browser was found: install one (apt-get install chromium, or playwright install --with-deps chromium), "
        f"or name one in {VARIABLE}."
    )
