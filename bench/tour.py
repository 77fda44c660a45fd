"""Tours: a browser opens host pages one after the other, ours and that of ext-apps, with the same server behind."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from bench import documents, ext_apps
from bench.browser import Answers, serving
from bench.processes import running
from bench.web_process import tool_name

PATIENCE = 60

OWN = "Fanlight, server in its process"
REMOTE = "Fanlight"
PEER = "ext-apps' AppBridge"


@dataclass(frozen=True)
class Stop:
    """One page of a tour: the host, the View, and how often it is shown."""

    host: str
    kind: str
    number: int
    clicks: int = 1
    phase: float = 0.0


class Tour:
    def __init__(self, ports: Mapping[str, int], answers: Answers) -> None:
        self._ports = ports
        self._answers = answers

    def found(self, stops: Sequence[Stop]) -> Iterator[tuple[Stop, list[dict[str, Any]]]]:
        """Go to all stops, in one browser; yield what was found at each."""
        found = self._answers.tour([self._address(stop) for stop in stops], PATIENCE)
        yield from zip(stops, found, strict=True)

    def _address(self, stop: Stop) -> str:
        query: dict[str, object] = {
            "tool": tool_name(stop.kind, stop.number),
            "clicks": stop.clicks,
            "phase": stop.phase,
            "collector": f"http://127.0.0.1:{self._ports['collector']}",
        }
        # Pages are at localhost; what they must not share an origin with is at another name of the same machine.
        if stop.host == PEER:
            query["server"] = f"http://127.0.0.1:{self._ports['server']}/mcp"
            query["sandbox"] = f"http://127.0.0.1:{self._ports['page']}/sandbox"
        else:
            query["server"] = "own" if stop.host == OWN else "remote"
        port = self._ports["page" if stop.host == PEER else "host"]
        return f"http://localhost:{port}/?{urlencode(query)}"


@contextmanager
def touring(views: Mapping[str, str], count: int) -> Iterator[Tour]:
    """Start everything that a tour needs: `count` Views of each kind, given by its document."""
    answers = Answers()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        for kind, html in views.items():
            Path(folder, f"{kind}.html").write_text(html, encoding="utf-8")
        script = Path(folder, "host.js")
        script.write_text(
            ext_apps.bundled(documents.text("ext_apps_host.js").replace("/* probe */", "")), encoding="utf-8"
        )
        server = stack.enter_context(running("bench.web_process", "server", folder, str(count)))
        page = stack.enter_context(running("bench.web_process", "page", str(script)))
        ports = {"server": server.answer()["port"], "page": page.answer()["port"]}
        address = f"http://127.0.0.1:{ports['server']}/mcp"
        host = stack.enter_context(running("bench.web_process", "host", folder, str(count), address))
        ports["host"] = host.answer()["port"]
        ports["collector"] = stack.enter_context(serving({}, answers))
        yield Tour(ports, answers)
