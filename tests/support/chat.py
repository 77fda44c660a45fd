"""One conversation of one user with the workers of a cluster: its pages in a browser, and the Views in them."""

import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Self

import anyio
from playwright.async_api import Browser, BrowserContext, Frame, Locator, Page, ViewportSize, expect

from support.browser import problems_of
from support.cluster import Cluster
from support.network import Balancer

_conversations = itertools.count(1)

SECONDS = 30.0
"""How long anything may take that a test waits for; generous, because the machine may be busy."""


async def eventually(check: Callable[[], Awaitable[Any] | Any], seconds: float = SECONDS) -> Any:
    """Wait until something is true, and return it."""
    found: Any = None
    with anyio.move_on_after(seconds):
        while True:
            found = check()
            if hasattr(found, "__await__"):
                found = await found
            if found:
                return found
            await anyio.sleep(0.02)
    raise AssertionError(f"not true after {seconds} seconds, but {found!r}")


class ShownView:
    """A View of the server `ledger` in a page."""

    def __init__(self, page: "ChatPage", id: str, frame: Frame, load: str) -> None:
        self.page = page
        self.id = id
        self.frame = frame
        self._load = load

    async def received(self, *kinds: str) -> list[Any]:
        """Return what the host has sent, of these kinds: "partial", "input", "result", "cancelled" and so on."""
        received: list[dict[str, Any]] = await self.frame.evaluate("window.received")
        return [each["data"] for each in received if not kinds or each["kind"] in kinds]

    async def has_received(self, *kinds: str) -> None:
        """Wait until the View has received exactly these kinds of messages, apart from partial arguments."""
        await expect(self.frame.locator("#shown")).to_have_text(" ".join(kinds))

    async def start(self, function: str, *arguments: str) -> None:
        """Call `write`, `remove`, `send` or `share` of the View, and do not wait for the outcome."""
        await self.frame.evaluate("([name, ...given]) => void window[name](...given)", [function, *arguments])

    async def outcome(self, text: str, seconds: float = SECONDS) -> str:
        """Wait for the outcome of a request, and return it: "ok: …" or "failed: …"."""

        async def settled() -> str:
            outcome: str = await self.frame.evaluate("(text) => window.outcomes[text]", text)
            return "" if outcome == "waiting" else outcome

        try:
            outcome: str = await eventually(settled, seconds)
        except AssertionError:
            raise AssertionError(f"{text} was not answered. {await self.page.description()}") from None
        return outcome

    async def outcomes(self) -> dict[str, str]:
        """Return how each request of this View ended, or that it is still waiting."""
        outcomes: dict[str, str] = await self.frame.evaluate("window.outcomes")
        return outcomes

    async def write(self, text: str) -> str:
        """Call the server's tool `write`, and return the outcome."""
        await self.start("write", text)
        return await self.outcome(text)

    async def type(self, text: str) -> None:
        """Type something, which is lost if the View is loaded again."""
        await self.frame.locator("#typed").fill(text)

    async def was_not_loaded_again(self, typed: str | None = None) -> None:
        """Fail if the View was loaded again since this object was made, or what was typed is gone."""
        assert await self.frame.evaluate("window.load") == self._load, "the View was loaded again"
        if typed is not None:
            assert await self.frame.locator("#typed").input_value() == typed


class ChatPage:
    """A page of a conversation."""

    def __init__(self, page: Page, balancer: Balancer) -> None:
        self.page = page
        self.balancer = balancer
        self.problems = problems_of(page)

    @property
    def status(self) -> Locator:
        """What a user is told about the connection."""
        return self.page.get_by_role("status")

    async def view(self, id: str) -> ShownView:
        """Wait until a View of the page is connected, and return it."""

        async def connected() -> tuple[Frame, str] | None:
            element = await self.page.query_selector(f'mcp-app[view="{id}"] iframe')
            proxy = None if element is None else await element.content_frame()
            frame = None if proxy is None else next(iter(proxy.child_frames), None)
            if frame is None or not frame.url.startswith("http"):
                return None
            load = await frame.evaluate("window.load")
            return None if load is None else (frame, load)

        frame, load = await eventually(connected)
        return ShownView(self, id, frame, load)

    async def description(self) -> str:
        """Return what the page says and did last, for a failure."""
        said = await self.page.locator("mcp-app").all_inner_texts()
        shadow = await self.page.evaluate(
            "[...document.querySelectorAll('mcp-app')].map((app) => [...app.shadowRoot.querySelectorAll('p')]"
            ".map((p) => p.textContent))"
        )
        messages = await self.page.evaluate(
            "messages.slice(-12).map((message) => JSON.stringify(message).slice(0, 300))"
        )
        served = [(request.path, worker) for request, worker in self.balancer.served if request.is_socket]
        lines = [f"The page says {said} {shadow}.", f"Sockets: {served}.", *messages]
        return "\n".join(lines)

    async def reopen(self, view: str) -> None:
        """Let an element show its View again, as "Show it here" does."""
        await self.page.evaluate("(view) => document.getElementById(view).reopen()", view)

    async def add(self, view: str, token: str) -> None:
        """Add an element for any View to the page."""
        await self.page.evaluate(
            """([view, token]) => {
              const app = Object.assign(document.createElement("mcp-app"), { id: view, view, token, src: "/apps" });
              document.body.append(app);
            }""",
            [view, token],
        )

    async def has_sent(self, method: str) -> None:
        """Wait until a View of this page has sent a request."""
        sent = "(method) => messages.some(({ from, message }) => from === 'view' && message.method === method)"
        await eventually(lambda: self.page.evaluate(sent, method))

    async def sent_to_view(self, method: str) -> int:
        """Return how often the host has sent Views of this page a message with a method."""
        count: int = await self.page.evaluate(
            "(method) => messages.filter(({ from, message }) => from === 'host' && message.method === method).length",
            method,
        )
        return count


class Chat:
    """A conversation of a user. Names of executions begin with both, so that no test sees those of another."""

    def __init__(self, cluster: Cluster, context: BrowserContext, user: str, address: str) -> None:
        self.cluster = cluster
        self.address = address
        self.user = user
        self.id = f"{user}-{next(_conversations)}"
        self.context = context

    @classmethod
    @asynccontextmanager
    async def opened(
        cls, cluster: Cluster, browser: Browser, user: str = "alice", *, address: str | None = None
    ) -> AsyncIterator[Self]:
        """Open a browser context in which a user is signed in. The default address is that of the balancer."""
        address = address or cluster.balancer.address
        size: ViewportSize = {"width": 700, "height": 1200}
        async with await browser.new_context(viewport=size, ignore_https_errors=True) as context:
            await context.add_cookies([{"name": "user", "value": user, "url": address}])
            yield cls(cluster, context, user, address)

    def text(self, name: str) -> str:
        """Return a text that only this conversation has."""
        return f"{self.id}-{name}"

    def repeated(self) -> list[str]:
        """Return what was executed more than once in this conversation."""
        starts = self.cluster.record.starts().items()
        return [text for text, count in starts if count > 1 and text.startswith(f"{self.id}-")]

    async def control(self, worker: str, operation: str, **arguments: Any) -> Any:
        """Let a worker do something for this conversation."""
        owner = {"user": self.user, "conversation": self.id}
        return await self.cluster[worker].control(operation, **owner, **arguments)

    async def call(self, worker: str, name: str, **arguments: Any) -> str:
        """Call the tool `show` on a worker, and return the id of its View."""
        answer = await self.control(
            worker, "call_tool", tool="ledger__show", arguments={"text": self.text(name), **arguments}
        )
        view: str = answer["view"]
        return view

    async def begin(self, worker: str) -> tuple[int, str]:
        """Begin a call of the tool `show` on a worker, and return its number there and the id of its View."""
        answer = await self.control(worker, "begin", tool="ledger__show")
        return answer["call"], answer["view"]

    async def page(self, view: str | None = None) -> ChatPage:
        """Open a page with all Views of the conversation, or with one."""
        page = ChatPage(await self.context.new_page(), self.cluster.balancer)
        query = "" if view is None else f"?view={view}"
        await page.page.goto(f"{self.address}/chat/{self.id}{query}")
        return page

    async def shown(self, view: str) -> ShownView:
        """Open a page with one View, and wait until it is connected."""
        return await (await self.page(view)).view(view)


def streamed(text: str, pieces: int = 3) -> list[str]:
    """Return the JSON text of arguments in pieces, as a model writes it."""
    whole = json.dumps({"text": text})
    size = max(len(whole) // pieces, 1)
    return [whole[start : start + size] for start in range(0, len(whole), size)]
