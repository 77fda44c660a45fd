"""A chat program for `uvicorn support.deployed_app:app`, configured by environment variables.

`FANLIGHT_OPTIONS` has the options of `Host` as JSON, and `FANLIGHT_SRC` the `src` of its `<mcp-app>`.
"""

import json
import os
from typing import Any

from mcp.server import MCPServer
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from fanlight import Apps, View
from fanlight.host import Host
from support.calls import call_tool
from support.program import chat_page

GREETING_HTML = """<!doctype html><title>Greeting</title><p id="greeting"></p>
<script type="module">
  import { App } from "@modelcontextprotocol/ext-apps";
  const app = new App({ name: "Greeting", version: "1" });
  app.ontoolresult = ({ structuredContent }) => (greeting.textContent = structuredContent.text);
  await app.connect();
</script>"""


def greeting_server() -> "MCPServer[Any]":
    """Return a server with one tool, whose View shows the text of the result."""
    server: MCPServer[Any] = MCPServer("greeting")

    @Apps(server).tool(view=View.html(GREETING_HTML, uri="ui://greeting/view"))
    def greet(name: str) -> dict[str, str]:
        return {"text": f"Hello, {name}"}

    return server


def greeting_program(host: Host, src: str = "/apps") -> Starlette:
    """Return a program with one page, which calls the tool and shows its View."""

    async def page(request: Request) -> HTMLResponse:
        call = await call_tool(host, "greeting", "greet", {"name": "World"})
        return HTMLResponse(chat_page(call, src=src))

    return Starlette(routes=[Route("/", page)])


if "FANLIGHT_OPTIONS" in os.environ:
    host = Host({"greeting": greeting_server()}, **json.loads(os.environ["FANLIGHT_OPTIONS"]))
    app = host.wrap(greeting_program(host, os.environ.get("FANLIGHT_SRC", "/apps")))
    sandbox = host.sandbox_asgi()
