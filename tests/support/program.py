"""A chat program with the host in it, shown in a real browser."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar
from urllib.parse import urlencode

from playwright.async_api import Browser, Page
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from fanlight.host.calls.call import Call
from fanlight.host.host import Host
from support.browser import problems_of
from support.calls import begin, call_tool
from support.wire import serving_pages

T = TypeVar("T")


def chat_page(*calls: Call, src: str = "/apps") -> str:
    """Return a page that shows the Views of these calls. `src` is where pages find the host."""
    elements = (f'<mcp-app view="{call.view}" token="{call.token}" src="{src}"></mcp-app>' for call in calls)
    script = f'<script type="module" src="{src}/mcp-app.js"></script>'
    return f'<!doctype html><link rel="icon" href="data:,"><title>Chat</title>{script}{"".join(elements)}'


class Program:
    """A chat program in a few lines: a page for each tool, which calls it and shows its View.

    A page that is loaded again shows the same call. The conversation has the server's name.
    """

    def __init__(self, host: Host) -> None:
        self.host = host
        self.address = ""
        self.call: Call
        """The last one."""
        self._calls: dict[str, Call] = {}
        self._numbers = itertools.count()
        self._loop: asyncio.AbstractEventLoop
        self.app = host.wrap(Starlette(routes=[Route("/{server}/{tool}", self.page)]))

    async def page(self, request: Request) -> Response:
        self._loop = asyncio.get_running_loop()
        if (asked := str(request.url)) not in self._calls:
            server, tool = request.path_params["server"], request.path_params["tool"]
            arguments = json.loads(request.query_params["arguments"])
            if arguments is None:
                await self.host.servers[server].ready()
                self.call = await begin(self.host, server, tool, server)
            else:
                self.call = await call_tool(self.host, server, tool, arguments, conversation=server)
            self._calls[asked] = self.call
        call = self._calls[asked]
        return HTMLResponse(chat_page(call))

    async def inside(self, work: Coroutine[Any, Any, T]) -> T:
        """Await something of the host in the host's own event loop."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def soon(self, work: Callable[..., object], *arguments: object) -> None:
        """Call something of the host in the host's own event loop."""
        self._loop.call_soon_threadsafe(work, *arguments)

    @asynccontextmanager
    async def shown(
        self,
        browser: Browser,
        server: str,
        tool: str,
        arguments: dict[str, Any] | None,
        *,
        height: int = 1200,
    ) -> AsyncIterator[tuple[Page, list[str]]]:
        """Show the page of a call, and collect its errors. Without arguments, the call has only begun."""
        page = await browser.new_page(viewport={"width": 700, "height": height})
        problems = problems_of(page)
        query = {"arguments": json.dumps(arguments), "call": next(self._numbers)}
        try:
            await page.goto(f"{self.address}/{server}/{tool}?{urlencode(query)}")
            yield page, problems
        finally:
            await page.close()


@contextmanager
def program_of(host: Host) -> Iterator[Program]:
    """Serve a chat program with a host in it."""
    program = Program(host)
    with serving_pages(program.app) as program.address:
        yield program
