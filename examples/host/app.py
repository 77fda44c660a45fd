"""A host in one file: a page that shows the other examples as a chat program would, without a model.

python examples/host/app.py [--port 8000] [--no-open]
"""

import argparse
import contextlib
import sys
import threading
import webbrowser
from dataclasses import asdict
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from fanlight.host import Host, Message

HERE = Path(__file__).resolve().parent
EXAMPLES = (
    *("clock", "todo", "chart", "wizard", "dashboard", "map", "image", "game"),
    *("shader", "speech", "video", "monitor", "outline", "scenario", "document", "qr", "score"),
)

# Instead of a model: the server, the tool and the arguments for each question.
QUESTIONS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "What time is it in Tokyo?": ("clock", "get_time", {"zone": "Asia/Tokyo"}),
    "What is on my to-do list?": ("todo", "show_todos", {}),
    "Chart the five highest mountains.": (
        "chart",
        "draw_chart",
        {
            "title": "The five highest mountains",
            "unit": "m",
            "rows": [
                {"label": "Everest", "value": 8849},
                {"label": "K2", "value": 8611},
                {"label": "Kangchenjunga", "value": 8586},
                {"label": "Lhotse", "value": 8516},
                {"label": "Makalu", "value": 8485},
            ],
        },
    ),
    "Book me a meeting room.": ("wizard", "start_booking", {}),
    "How busy is this computer?": ("dashboard", "show_dashboard", {}),
    "Where are Paris, Cairo and Nairobi?": (
        "map",
        "show_map",
        {"places": [{"name": "Paris"}, {"name": "Cairo"}, {"name": "Nairobi"}]},
    ),
    "Show me the dunes.": ("image", "show_picture", {"name": "dunes"}),
    "Play four in a row with me.": ("game", "start_game", {}),
    "Show me a shader with drops.": ("shader", "show_shader", {}),
    "Ask me how my day was.": ("speech", "dictate", {}),
    "Play the video of a day.": ("video", "show_video", {}),
    "Watch the log of the shop.": ("monitor", "watch_log", {}),
    "When does a solar roof pay off?": ("scenario", "show_scenario", {}),
    "Open the manual of Python at the assert statement.": (
        "document",
        "open_document",
        {"find_words": "assert statement"},
    ),
    "Make a QR code of https://modelcontextprotocol.io.": (
        "qr",
        "make_qr_code",
        {"content": "https://modelcontextprotocol.io"},
    ),
    "Show me the start of the Ode to Joy as sheet music.": (
        "score",
        "show_score",
        {"title": "Ode to Joy", "notes": "F F G A | A G F E | D D E F | F3/2 E/2 E2 |", "key": "D"},
    ),
    "Why do visitors leave without an order?": (
        "outline",
        "show_outline",
        {
            "outline": {
                "question": "Why do visitors leave without an order?",
                "parts": [
                    {"title": "They cannot find it", "share": 45},
                    {"title": "They do not want it at this price", "share": 30},
                    {"title": "They cannot pay", "share": 15},
                ],
            }
        },
    ),
}

host = Host({name: [sys.executable, str(HERE.parent / name / "server.py")] for name in EXAMPLES})
chat = host.conversation("demo")
messages: list[str] = []


@host.on_message
def on_message(message: Message) -> None:
    messages.extend(str(block.get("text", "")) for block in message.content)


async def page(request: Request) -> Response:
    return FileResponse(HERE / "page.html")


async def questions(request: Request) -> Response:
    return JSONResponse(list(QUESTIONS))


async def ask(request: Request) -> Response:
    question = (await request.json()).get("question")
    if question not in QUESTIONS:
        return JSONResponse({"error": "Unknown question. Choose one of the list."}, 400)
    server, tool, arguments = QUESTIONS[question]
    call = await chat.call_tool(f"{server}__{tool}", arguments)
    text = "\n".join(block.get("text", "") for block in call.for_model)
    return JSONResponse(
        {"tool": call.tool, "server": call.server, "view": call.view, "token": call.token, "text": text}
    )


async def model(request: Request) -> Response:
    context = [asdict(update) for update in await chat.context(everything=True)]
    return JSONResponse({"context": context, "messages": messages})


app = host.wrap(
    Starlette(
        routes=[
            Route("/", page),
            Route("/questions", questions),
            Route("/ask", ask, methods=["POST"]),
            Route("/model", model),
        ],
        # One user, on this machine: a page whose name was made to resolve to it must not read the conversation.
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=["localhost", "127.0.0.1"])],
    )
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--no-open", action="store_true", help="do not open a browser")
    options = parser.parse_args()
    url = f"http://localhost:{options.port}/"
    print(f"\n  The example apps are at {url}\n  Stop with Ctrl+C.\n", flush=True)
    if not options.no_open:
        threading.Timer(1.0, lambda: webbrowser.open(url)).start()
    with contextlib.suppress(KeyboardInterrupt):
        # Compression would take 38 kB for each open View, and messages are small.
        uvicorn.run(
            app,
            host="127.0.0.1",
            port=options.port,
            log_level="warning",
            ws="websockets-sansio",
            ws_per_message_deflate=False,
        )


if __name__ == "__main__":
    main()
