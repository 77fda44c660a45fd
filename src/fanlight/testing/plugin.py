"""Fixtures for pytest. Heavy imports are local, so unrelated test runs stay fast.

    app_host          a host in memory, with no port
    scripted_view     a View in Python
    open_view         a View in a real browser
    assert_picture    compare a picture with the accepted one

`fanlight.check.plugin` adds `assert_conforms`.

All tests of a run share one browser; each View has a page with its own cookies, storage and cache. To change how Views
are shown, a project overrides `fanlight_context`, `fanlight_policy`, `fanlight_browser` and `fanlight_options`.
"""

import re
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.async_api import Browser

    from fanlight.host import Host, Policy
    from fanlight.protocol.jsonrpc import JSONObject
    from fanlight.testing.browser import SharedBrowsers
    from fanlight.testing.live_view import LiveView
    from fanlight.testing.pictures import Comparison
    from fanlight.testing.scripted import ScriptedView

GetBrowser = Callable[[], Awaitable["Browser"]]

_UNPLAIN = re.compile(r"[^A-Za-z0-9_]+")
_evidence = pytest.StashKey["Evidence"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("fanlight", "Views of MCP Apps (fanlight)")
    group.addoption(
        "--fanlight-update-pictures", action="store_true", help="save the current pictures as the accepted ones"
    )
    group.addoption(
        "--fanlight-output",
        default=".fanlight",
        metavar="FOLDER",
        help="where pictures and message logs of failed tests go (default: .fanlight)",
    )


# What a failed test leaves


@dataclass
class Evidence:
    """The files that a failed test leaves behind, in a folder with the test's name."""

    folder: Path
    """The folder."""
    files: dict[str, bytes] = field(default_factory=dict)
    """The files by name, which are written if the test fails."""
    _begun: bool = False

    def name(self, kind: str) -> str:
        """Return an unused name: `view`, `view-2` and so on."""
        number = 1 + sum(1 for name in self.files if name.startswith(kind) and name.endswith(".jsonl"))
        return kind if number == 1 else f"{kind}-{number}"

    def write(self, name: str, data: bytes) -> Path:
        """Write a file now, whether or not the test fails."""
        if not self._begun:
            shutil.rmtree(self.folder, ignore_errors=True)  # what an earlier run left
            self._begun = True
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / name
        path.write_bytes(data)
        return path

    async def keep(self, view: "LiveView") -> None:
        """Keep messages, console and a screenshot of a View."""
        from anyio import move_on_after

        name = self.name("view")
        self.files[f"{name}.jsonl"] = view.log().encode()
        with suppress(Exception), move_on_after(5):
            self.files[f"{name}.png"] = await view.page.screenshot()
        console = [
            *(f"uncaught: {error}\n{error.stack}" for error in view.errors),
            *map(str, view.console),
            *map(str, view.violations),
        ]
        if console:
            self.files[f"{name}.console.txt"] = "\n".join(console).encode() + b"\n"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Write the files of a failed test, and add their paths to its report."""
    report = yield
    evidence = item.stash.get(_evidence, None)
    if report.when == "call" and report.failed and evidence is not None and evidence.files:
        paths = [evidence.write(name, data) for name, data in evidence.files.items()]
        report.sections.append(("fanlight", "\n".join(map(str, paths))))
    return report


def pytest_exception_interact(
    node: pytest.Item | pytest.Collector, call: pytest.CallInfo[Any], report: pytest.CollectReport | pytest.TestReport
) -> None:
    """Explain the error of a server that runs when it is imported: its stdin is pytest's, which cannot be read."""
    assert call.excinfo is not None
    place = _runs_server_on_import(call.excinfo)
    if place is not None:
        report.longrepr = (
            f"{place} starts the server while the module is imported. Put the call below "
            'if __name__ == "__main__": so that tests can import it.'
        )


def _runs_server_on_import(error: pytest.ExceptionInfo[BaseException]) -> str | None:
    """Return the place of a `run()` of an MCP server at the top level of a module, if an exception came from there."""
    entries = list(error.traceback)
    for caller, called in pairwise(entries):
        module = str(called.frame.f_globals.get("__name__", ""))
        is_run = called.name == "run" and module.partition(".")[0] in ("mcp", "fastmcp")
        if is_run and caller.name == "<module>":
            return f"{caller.path}:{caller.lineno + 1}"
    return None


@pytest.fixture
def fanlight_evidence(request: pytest.FixtureRequest) -> Evidence:
    """The files that this test leaves behind if it fails. `write` adds one of your own."""
    node: pytest.Item = request.node
    if _evidence not in node.stash:
        output = Path(request.config.getoption("--fanlight-output"))
        name = _UNPLAIN.sub("-", node.name).strip("-")[:100]
        node.stash[_evidence] = Evidence(request.config.invocation_params.dir / output / node.path.stem / name)
    return node.stash[_evidence]


# What a project overrides


@pytest.fixture
def fanlight_context() -> "JSONObject":
    """The host context of all Views, such as `{"theme": "dark"}`. Override it; the default is `{}`."""
    return {}


@pytest.fixture
def fanlight_policy() -> "Policy | None":
    """The policy for all Views. Override it; the default, None, allows everything."""
    return None


@pytest.fixture
def fanlight_browser() -> "Browser | str | Path | None":
    """The browser: a Playwright `Browser` that runs, the path of one to launch, or None to find one.

    Override it. A browser that is launched or found is shared by all tests of the run.
    """
    return None


@pytest.fixture(scope="session")
def fanlight_browsers() -> "Iterator[SharedBrowsers]":
    """The browsers that tests share, launched when they are first needed and closed after the last test."""
    from fanlight.testing.browser import SharedBrowsers

    with SharedBrowsers() as browsers:
        yield browsers


@pytest.fixture
def fanlight_options() -> "JSONObject":
    """The options of `Stage.open` for all Views of `open_view`, such as `{"freeze": True}`. The default is `{}`."""
    return {}


# Fixtures


class AppHost:
    """What the fixture `app_host` provides: `async with app_host(server) as host`."""

    def __init__(self, options: "JSONObject") -> None:
        self._options = options

    def using(self, **options: Any) -> "AppHost":
        """Return a copy with options of `Host`."""
        return AppHost({**self._options, **options})

    def __call__(self, servers: object) -> "AbstractAsyncContextManager[Host]":
        """Run a host with one server, which is named "server", or with several by name."""
        from fanlight.testing.scripted import app_host

        return app_host(servers, **self._options)


class ScriptedViews:
    """What the fixture `scripted_view` provides: `async with scripted_view(server, "get_time", zone="UTC") as view`."""

    def __init__(self, evidence: Evidence, options: "JSONObject") -> None:
        self._evidence = evidence
        self._options = options

    def using(self, **options: Any) -> "ScriptedViews":
        """Return a copy with options of `fanlight.testing.scripted.scripted_view`."""
        return ScriptedViews(self._evidence, {**self._options, **options})

    @asynccontextmanager
    async def __call__(self, server: object, tool: str, /, **arguments: Any) -> "AsyncIterator[ScriptedView]":
        """Call a tool of a server, or of a running host, and open its View."""
        from fanlight.testing.scripted import scripted_view

        options = dict(self._options)
        if _is_host(server):
            options = {name: value for name, value in options.items() if name not in ("context", "policy")}
        async with scripted_view(server, tool, arguments, **options) as view:
            try:
                yield view
            finally:
                self._evidence.files[f"{self._evidence.name('scripted')}.jsonl"] = view.log().encode()


class ViewOpener:
    """What the fixture `open_view` provides: `async with open_view(server, "get_time", zone="UTC") as view`."""

    def __init__(
        self,
        evidence: Evidence,
        browser: GetBrowser,
        policy: "Policy | None",
        options: "JSONObject",
    ) -> None:
        self._evidence = evidence
        self._browser = browser
        self._policy = policy
        self._options = options

    def using(self, **options: Any) -> "ViewOpener":
        """Return a copy with options of `Stage.open`: `theme`, `size`, `mode`, `locale`, `freeze` and so on."""
        return ViewOpener(self._evidence, self._browser, self._policy, {**self._options, **options})

    @asynccontextmanager
    async def __call__(self, server: object, tool: str, /, **arguments: Any) -> "AsyncIterator[LiveView]":
        """Call a tool of a server and show its View."""
        from fanlight.testing.stage import open_view

        options = {**self._options, "on_leave": self._evidence.keep}
        browser = await self._browser()
        async with open_view(server, tool, arguments, browser=browser, policy=self._policy, **options) as view:
            yield view


class Pictures:
    """What the fixture `assert_picture` provides: `await assert_picture(view, "empty")`."""

    def __init__(self, evidence: Evidence, browser: GetBrowser, folder: Path, update: bool) -> None:
        self._evidence = evidence
        self._browser = browser
        self._folder = folder
        self._update = update

    async def __call__(self, seen: "LiveView | bytes", name: str, *, tolerance: float = 0.001, colour: int = 8) -> None:
        """Fail if a View, or a PNG, differs from the accepted picture.

        The accepted picture is `pictures/<test file>/<name>.png`.

        Args:
            seen: The View, or a PNG.
            name: The name of the picture.
            tolerance: The share of pixels that may differ.
            colour: A pixel differs if its red, green or blue differs by more than this, of 255.
        """
        __tracebackhide__ = True
        actual = seen if isinstance(seen, bytes) else await self._picture(seen)
        path = self._folder / f"{_UNPLAIN.sub('-', name)}.png"
        accepted = path.read_bytes() if path.exists() else None
        if accepted == actual:
            return
        if self._update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(actual)
            return
        if accepted is None:
            at = self._evidence.write(f"{path.stem}.actual.png", actual)
            pytest.fail(
                f"There is no picture {path} yet; this one is at {at}. "
                "If it is right: pytest --fanlight-update-pictures",
                pytrace=False,
            )
        found = await self._compare(seen, accepted, actual, colour)
        if found.expected != found.actual or found.share > tolerance:
            self._evidence.write(f"{path.stem}.actual.png", actual)
            at = self._evidence.write(f"{path.stem}.difference.png", found.picture or b"")
            pytest.fail(
                f"The picture {path.name} differs: {found}; {tolerance:.2%} of the pixels may differ. Look at {at}. "
                "If it is right: pytest --fanlight-update-pictures",
                pytrace=False,
            )

    async def _picture(self, view: "LiveView") -> bytes:
        from fanlight.testing.live_view import UnsettledError

        with suppress(UnsettledError):
            await view.wait_until_settled()
        return await view.screenshot()

    async def _compare(self, seen: "LiveView | bytes", expected: bytes, actual: bytes, colour: int) -> "Comparison":
        from fanlight.testing.pictures import compare

        used = None if isinstance(seen, bytes) else seen.page.context.browser
        return await compare(used or await self._browser(), expected, actual, colour=colour)


@pytest.fixture
def app_host(fanlight_context: "JSONObject", fanlight_policy: "Policy | None") -> AppHost:
    """Run hosts in memory, without a port."""
    return AppHost({"context": fanlight_context, "policy": fanlight_policy})


@pytest.fixture
def scripted_view(
    fanlight_evidence: Evidence, fanlight_context: "JSONObject", fanlight_policy: "Policy | None"
) -> ScriptedViews:
    """Open Views that the test plays in Python, without a browser."""
    return ScriptedViews(fanlight_evidence, {"context": fanlight_context, "policy": fanlight_policy})


@pytest.fixture
def _get_browser(fanlight_browsers: "SharedBrowsers", fanlight_browser: "Browser | str | Path | None") -> GetBrowser:
    """Return the browser of a test, in the event loop of the test."""
    return partial(fanlight_browsers.get, fanlight_browser)


@pytest.fixture
def open_view(
    fanlight_evidence: Evidence,
    _get_browser: GetBrowser,
    fanlight_context: "JSONObject",
    fanlight_policy: "Policy | None",
    fanlight_options: "JSONObject",
) -> ViewOpener:
    """Open Views in a real browser."""
    options = {"context": fanlight_context, **fanlight_options}
    return ViewOpener(fanlight_evidence, _get_browser, fanlight_policy, options)


@pytest.fixture
def assert_picture(request: pytest.FixtureRequest, fanlight_evidence: Evidence, _get_browser: GetBrowser) -> Pictures:
    """Compare Views with accepted pictures of them."""
    folder = request.node.path.parent / "pictures" / request.node.path.stem
    return Pictures(fanlight_evidence, _get_browser, folder, request.config.getoption("--fanlight-update-pictures"))


def _is_host(server: object) -> bool:
    from fanlight.host import Host

    return isinstance(server, Host)
