"""A program as it is deployed: several workers of it share PostgreSQL and Valkey. ../README.md has the command.

A user signs in with a name, and asks for Views, which stay in the conversation. There is no model: each button calls a
tool. The program keeps nothing in memory, so that any worker can answer any request.
"""

import hashlib
import hmac
import os
import sys
from datetime import timedelta
from pathlib import Path
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from fanlight.host import Host, Retention

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent
SECRET = os.environ["CHAT_SECRET"].encode()
TOOLS = ("clock__get_time", "todo__show_todos")
SANDBOX = os.environ.get("CHAT_SANDBOX_ORIGIN") or None
HOSTS = os.environ.get("CHAT_HOSTS", "").split() or None


def server(name: str) -> dict[str, object]:
    """Return an example server. Its process has state, so each conversation stays with one worker's."""
    return {
        "command": sys.executable,
        "args": [str(EXAMPLES / name / "server.py")],
        "affinity": "conversation",
    }


def signed(user: str) -> str:
    """Return the cookie of a user. Workers share the secret, so each of them can check it."""
    return f"{user}.{hmac.new(SECRET, user.encode(), hashlib.sha256).hexdigest()}"


def identify(connection: HTTPConnection) -> str | None:
    cookie = connection.cookies.get("user", "")
    user = cookie.rpartition(".")[0]
    return user if user and hmac.compare_digest(cookie.encode(), signed(user).encode()) else None


async def credentials(user: str, server: str) -> dict[str, str] | None:
    """Give each user a process of `todo`, whose list is in its memory. All users share that of `clock`."""
    return {} if server == "todo" else None


host = Host(
    {"clock": server("clock"), "todo": server("todo")},
    user=identify,
    credentials=credentials,
    store=os.environ["CHAT_STORE"],
    bus=os.environ["CHAT_BUS"],
    sandbox_origin=SANDBOX,
    hosts=HOSTS,
    retention=Retention(views=timedelta(days=30), audit=timedelta(days=365)),
)


async def page(request: Request) -> Response:
    return FileResponse(HERE / "page.html")


async def views(request: Request) -> Response:
    """Return the open Views of the user's conversation, each with a token for this page."""
    if (user := identify(request)) is None:
        return JSONResponse({"user": None, "views": []})
    chat = host.conversation("main", user=user)
    found = [{"view": view.id, "token": await chat.token(view.id)} for view in await chat.views()]
    return JSONResponse({"user": user, "views": found})


async def sign_in(request: Request) -> Response:
    user = (await form(request)).get("user", "")
    if not (user.isascii() and user.isalpha()):
        return JSONResponse({"error": "A name has the letters a to z."}, 400)
    response = RedirectResponse("/", 303)
    is_secure = SANDBOX is not None and SANDBOX.startswith("https:")
    # A demo, without a password.
    response.set_cookie("user", signed(user), httponly=True, samesite="strict", secure=is_secure)
    return response


async def ask(request: Request) -> Response:
    user, tool = identify(request), (await form(request)).get("tool", "")
    if user is None or tool not in TOOLS:
        return JSONResponse({"error": f"Sign in first, and ask for one of {', '.join(TOOLS)}."}, 400)
    await host.conversation("main", user=user).call_tool(tool, {})
    return RedirectResponse("/", 303)


async def form(request: Request) -> dict[str, str]:
    return dict(parse_qsl((await request.body()).decode()))


routes = [
    Route("/", page),
    Route("/views", views),
    Route("/sign-in", sign_in, methods=["POST"]),
    Route("/ask", ask, methods=["POST"]),
]
app = host.wrap(Starlette(routes=routes))
