"""A worker of a chat program: `uvicorn --factory support.worker:app`, with its configuration in `FANLIGHT_WORKER`.

Its pages show the Views of a conversation. `POST /control/{operation}` does what the program around a host would do: it
takes JSON and returns `{"result": ...}`, or `{"error": type, "message": ...}`.
"""

import itertools
import json
import os
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from fanlight.host import Call, Conversation, Host, Message, Policy, Timeouts

_PAGE = """<!doctype html><link rel="icon" href="data:,"><title>Chat</title>
<script>
  window.messages = [];
  window.errors = [];
  addEventListener("mcp-message", ({{ target, detail }}) => messages.push({{ view: target.view, ...detail }}));
  addEventListener("mcp-error", ({{ detail }}) => errors.push(detail.reason));
</script>
<script type="module" src="/apps/mcp-app.js"></script>
{elements}"""


class Worker:
    """The program around a host: its pages and what a test can make it do."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._name = config["name"]
        self._messages = Path(config["folder"]) / "messages.jsonl"
        self._calls: dict[int, Call] = {}
        self._numbers = itertools.count(1)
        bus = {"bus": config["bus"]} if config.get("bus") else {}
        self.host = Host(
            config["servers"],
            store=config["store"],
            policy=Policy(config["policy"]),
            user=identify,
            timeouts=Timeouts(**config["timeouts"]),
            audit_arguments="whole",
            **bus,
            **config.get("options", {}),
        )
        self.host.on_message(self.message)
        routes = [
            Route("/chat/{conversation}", self.page),
            Route("/control/{operation}", self.control, methods=["POST"]),
        ]
        self.app = self.host.wrap(Starlette(routes=routes))

    async def message(self, message: Message) -> None:
        """Record a View's message, with the worker whose handler got it."""
        line = {"worker": self._name, "user": message.user, "conversation": message.conversation, "text": message.text}
        with self._messages.open("ab", buffering=0) as file:
            file.write(json.dumps(line).encode() + b"\n")

    async def page(self, request: Request) -> HTMLResponse:
        """Show the open Views of a conversation of the page's user."""
        chat = self.host.conversation(request.path_params["conversation"], user=identify(request))
        only = request.query_params.get("view")
        views = [view.id for view in await chat.views() if only in (None, view.id)]
        elements = [
            f'<mcp-app id="{escape(view)}" view="{escape(view)}" token="{escape(await chat.token(view))}" src="/apps">'
            "</mcp-app>"
            for view in views
        ]
        return HTMLResponse(_PAGE.format(elements="\n".join(elements)))

    async def control(self, request: Request) -> JSONResponse:
        """Carry out one of the operations below."""
        arguments = await request.json()
        operation: Callable[..., Awaitable[Any]] = getattr(self, f"do_{request.path_params['operation']}")
        if "user" in arguments:
            chat = self.host.conversation(arguments.pop("conversation", None), user=arguments.pop("user"))
            arguments = {"chat": chat, **arguments}
        try:
            return JSONResponse({"result": await operation(**arguments)})
        except Exception as error:
            return JSONResponse({"error": type(error).__name__, "message": str(error)})

    async def do_begin(self, chat: Conversation, tool: str) -> dict[str, Any]:
        await chat.tools()
        call = await chat.begin(tool)
        number = next(self._numbers)
        self._calls[number] = call
        return {"call": number, "view": call.view}

    async def do_feed(self, call: int, delta: str) -> None:
        self._calls[call].feed(delta)

    async def do_run(self, call: int, arguments: dict[str, Any]) -> dict[str, Any]:
        return await self._calls[call].run(arguments)

    async def do_cancel(self, call: int, reason: str) -> None:
        await self._calls[call].cancel(reason)

    async def do_call_tool(self, chat: Conversation, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        call = await chat.call_tool(tool, arguments)
        return {"view": call.view, "result": call.result}

    async def do_stream_tool(self, chat: Conversation, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        await chat.tools()
        call = await chat.begin(tool)
        call.feed(json.dumps(arguments)[:-5])
        return {"view": call.view, "result": await call.run(arguments)}

    async def do_tools(self, chat: Conversation) -> list[str]:
        return [tool.name for tool in await chat.tools()]

    async def do_context(self, chat: Conversation) -> list[str]:
        return [update.text for update in await chat.context()]

    async def do_views(self, chat: Conversation) -> list[dict[str, Any]]:
        return [asdict(view) for view in await chat.views()]

    async def do_view(self, view: str) -> dict[str, Any]:
        return asdict(await self.host.view(view))

    async def do_close_view(self, view: str) -> None:
        await self.host.close_view(view)

    async def do_close(self, chat: Conversation) -> None:
        await chat.close()

    async def do_forget(self, chat: Conversation) -> None:
        await self.host.forget(user=chat.user, conversation=chat.id)

    async def do_disconnect(self, chat: Conversation) -> None:
        assert chat.user is not None
        await self.host.disconnect(chat.user)

    async def do_grants(self, chat: Conversation) -> list[str]:
        return [f"{grant.kind} {grant.key}" for grant in await self.host.grants(chat.user)]

    async def do_revoke(self, chat: Conversation) -> None:
        for grant in await self.host.grants(chat.user):
            await self.host.revoke(grant)

    async def do_drain(self, seconds: float) -> None:
        await self.host.drain(seconds)

    async def do_audit(self, **query: Any) -> list[dict[str, Any]]:
        return [record._asdict() async for record in self.host.audit(**query)]


def identify(connection: HTTPConnection) -> str | None:
    """Return the user whose name is in the page's cookie."""
    return connection.cookies.get("user")


def app() -> ASGIApp:
    """Return the program, as the environment says."""
    return Worker(json.loads(os.environ["FANLIGHT_WORKER"])).app
