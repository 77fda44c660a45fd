"""The examples, with a client in memory and with their Views in a browser."""

import runpy
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from playwright.async_api import Browser

from support.stage import Stage, on_stage
from support.wire import UI, Wire, WireError, in_memory

EXAMPLES = Path(__file__).parents[2] / "examples"
VIEWS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "clock": ("ui://clock/clock", "get_time", {"zone": "UTC"}),
    "todo": ("ui://todo/todo", "show_todos", {}),
    "chart": (
        "ui://chart/chart",
        "draw_chart",
        {
            "title": "Heights",
            "unit": "m",
            "rows": [{"label": "K2", "value": 8611}, {"label": "Everest", "value": 8849}],
        },
    ),
    "wizard": ("ui://wizard/wizard", "start_booking", {}),
    "dashboard": ("ui://dashboard/dashboard", "show_dashboard", {}),
    "map": ("ui://map/map", "show_map", {"places": [{"name": "Paris"}, {"name": "Nairobi"}]}),
    "image": ("ui://image/image", "show_picture", {"name": "night"}),
    "game": ("ui://game/game", "start_game", {}),
    "shader": ("ui://shader/shader", "show_shader", {}),
    "speech": ("ui://speech/speech", "dictate", {}),
    "video": ("ui://video/video", "show_video", {}),
    "monitor": ("ui://monitor/monitor", "watch_log", {}),
    "outline": (
        "ui://outline/outline",
        "show_outline",
        {
            "outline": {
                "question": "Why do visitors leave?",
                "parts": [
                    {"title": "Price", "share": 60},
                    {"title": "Time", "share": 30, "parts": [{"title": "Delivery"}, {"title": "Payment"}]},
                ],
            }
        },
    ),
    "scenario": ("ui://scenario/scenario", "show_scenario", {}),
    "document": ("ui://document/document", "open_document", {"find_words": "assert statement"}),
    "qr": ("ui://qr/qr", "make_qr_code", {"content": "https://example.com/menu"}),
    "score": (
        "ui://score/score",
        "show_score",
        {"title": "Ode to Joy", "notes": "F F G A | A G F E | D D E F | F3/2 E/2 E2 |", "key": "D"},
    ),
    "cart": ("ui://shop/cart", "show_cart", {}),
    "sales": ("ui://sales/fanlight-table", "orders", {}),
    "import": ("ui://import/fanlight-upload", "import_csv", {}),
    "booking": (
        "ui://booking/fanlight-form",
        "book",
        {"address": {"city": "Paris"}, "parcels": [{"contents": "Books"}]},
    ),
}


def namespace_of(name: str) -> dict[str, Any]:
    """Run the program of an example, and return its global names."""
    return runpy.run_path(str(EXAMPLES / name / "server.py"))


def server_of(name: str) -> Any:
    return namespace_of(name)["server"]


@asynccontextmanager
async def client_of(name: str, capabilities: dict[str, Any] = UI) -> AsyncIterator[Wire]:
    async with in_memory(server_of(name), "2025-11-25", capabilities) as client:
        yield client


class Refusing(Wire):
    """A client whose requests all fail."""

    def __init__(self) -> None:
        pass

    async def request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        raise WireError({"code": -32000, "message": "The host refuses."})


@asynccontextmanager
async def showing(browser: Browser, name: str, **options: Any) -> AsyncIterator[Stage]:
    uri, tool, arguments = VIEWS[name]
    async with (
        client_of(name) as client,
        on_stage(browser, (await client.read(uri))["text"], client, **options) as stage,
    ):
        await stage.run(tool, arguments)
        yield stage
        assert stage.problems == []
