"""The probe's server: tools that show its View, tools that the View calls or must not, and what the server saw."""

import json
import secrets
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent, ToolAnnotations

from fanlight import Apps, Csp, View, __version__
from fanlight.probe import rules
from fanlight.probe.report import ReportError, checked, summary, write
from fanlight.protocol.extension import EXTENSION_ID
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.server.document import FileDocument

META_KEY: Final = "fanlight/probe"
_PAGES: Final = Path(__file__).parent / "pages"
_PLACE: Final = '{ "rules": [] }'
_MOST_CALLS: Final = 100
_MOST_SECONDS: Final = 120.0
_READS: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)

# Names that never lead anywhere (RFC 6761): what a policy lets through fails at the network instead.
_DOMAIN: Final = "fanlight-probe.invalid"
_CSP: Final = Csp(
    connect_domains=[f"https://connect.{_DOMAIN}"],
    resource_domains=[f"https://resource.{_DOMAIN}", f"https://*.wild.{_DOMAIN}"],
    frame_domains=[f"https://frame.{_DOMAIN}"],
    base_uri_domains=[f"https://base.{_DOMAIN}"],
)
_TEXT: Final = """\
The probe tests the host in its View, which takes some seconds. Call probe_results for the report. If no View is \
shown, this host does not show MCP Apps, and there is nothing to report."""
_DATA: Final[JSONObject] = {
    "text": "Grüße, 世界, \U0001f44b",
    "numbers": [0, -1, 1.5, 9007199254740991],
    "nothing": None,
    "yes": True,
    "nested": {"deep": {"empty": [], "object": {}}},
}


@dataclass
class Saw:
    """What the server saw of its client."""

    calls: "OrderedDict[str, JSONObject]" = field(default_factory=OrderedDict)
    """The arguments of each run of the probe."""
    reads: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    """How often tools were called that no View may call."""
    cancelled: int = 0
    report: JSONObject | None = None
    spoofed: set[str] = field(default_factory=set)
    """Runs that have tried to forge the sandbox's messages. One that does it twice was loaded anew by that."""


def probe_server(report: Path | None = None) -> MCPServer[Any]:
    """Make the probe's server. Each report is written to the file, if one is given."""
    server: MCPServer[Any] = MCPServer("fanlight-probe", version=__version__, log_level="WARNING")
    # Hosts that show Views without asking for them are to be tested as well.
    apps = Apps(server, negotiate="always")
    saw = Saw()
    options: JSONObject = {"title": "Host probe", "prefers_border": False}
    uri = "ui://fanlight-probe/view"
    full = View(_maker(saw, _CSP), uri=uri, name="probe", csp=_CSP, permissions=["clipboard-write"], **options)
    bare = View(_maker(saw, None), uri="ui://fanlight-probe/bare", name="bare", **options)

    @apps.tool(view=full, title="Probe this host", annotations=_READS, structured_output=False)
    async def probe_host(note: str = "", seconds: float = 0, fail: bool = False) -> CallToolResult:
        """Test how the host that shows this app keeps the rules of MCP Apps.

        `note` is any text, which comes back. With `seconds`, the call takes that long, so that it can be cancelled.
        With `fail`, it ends with an error.
        """
        return await _run(saw, {"note": note, "seconds": seconds, "fail": fail})

    @apps.tool(view=bare, title="Probe this host without domains", annotations=_READS, structured_output=False)
    async def probe_host_bare(note: str = "", seconds: float = 0, fail: bool = False) -> CallToolResult:
        """Test the host as probe_host does, with a View that declares no domains."""
        return await _run(saw, {"note": note, "seconds": seconds, "fail": fail})

    @apps.tool(annotations=_READS)
    def probe_results() -> str:
        """Return what the last probe of this host found."""
        return "No View has reported yet." if saw.report is None else summary(saw.report)

    @apps.tool(annotations=_READS, structured_output=False)
    def probe_echo(payload: Any = None, fail: bool = False) -> CallToolResult:
        """Return what was given. For the probe's View."""
        text = TextContent(type="text", text=json.dumps(payload, ensure_ascii=False))
        data = {"payload": payload}
        return CallToolResult(content=[text], structured_content=data, is_error=fail, _meta={META_KEY: data})

    @apps.tool(visibility=["model"], annotations=_READS)
    def probe_model_only() -> str:
        """Say that it was called. Only the model may do so, and the probe's View tries it."""
        saw.refused["probe_model_only"] += 1
        return "called"

    @server.tool(meta={"ui": {"visibility": []}}, annotations=_READS)
    def probe_nobody() -> str:
        """Say that it was called. Nobody may do so, and the probe's View tries it."""
        saw.refused["probe_nobody"] += 1
        return "called"

    @apps.tool(visibility=["app"], annotations=_READS)
    async def probe_wait(seconds: float, ctx: Context[Any, Any]) -> str:
        """Wait, and tell of the progress."""
        steps = 4
        try:
            for step in range(1, steps + 1):
                await anyio.sleep(min(seconds, _MOST_SECONDS) / steps)
                await ctx.report_progress(step, steps, "waiting")
        except anyio.get_cancelled_exc_class():
            saw.cancelled += 1
            raise
        return "waited"

    @apps.tool(visibility=["app"], annotations=_READS)
    def probe_saw(ctx: Context[Any, Any], run: str = "", spoof: bool = False) -> JSONObject:
        """Return what the server saw of the host. `spoof` tells that a run forges the sandbox's messages now."""
        capabilities = ctx.session.client_capabilities
        extensions = None if capabilities is None else capabilities.extensions
        spoofed = run in saw.spoofed
        if spoof:
            saw.spoofed.add(run)
        return {
            "arguments": saw.calls.get(run),
            "reads": saw.reads,
            "refused": saw.refused,
            "cancelled": saw.cancelled,
            "extension": (extensions or {}).get(EXTENSION_ID),
            "experimental": None if capabilities is None else (capabilities.experimental or {}).get(EXTENSION_ID),
            "protocol": ctx.protocol_version,
            "spoofed": spoofed,
        }

    # It changes a file only where the user asked for one, and only then hosts have reason to ask.
    @apps.tool(visibility=["app"], annotations=_READS if report is None else ToolAnnotations(read_only_hint=False))
    def probe_report(found: JSONObject) -> JSONObject:
        """Keep what the View found."""
        try:
            saw.report = checked(found)
        except ReportError as error:
            raise ToolError(str(error)) from None
        if report is not None:
            write(saw.report, report)
        return {"written": report is not None}

    return server


async def _run(saw: Saw, arguments: JSONObject) -> CallToolResult:
    run = secrets.token_hex(8)
    saw.calls[run] = arguments
    while len(saw.calls) > _MOST_CALLS:
        saw.calls.popitem(last=False)
    await anyio.sleep(min(arguments["seconds"], _MOST_SECONDS))
    data = {"run": run, "arguments": arguments, "data": _DATA}
    return CallToolResult(
        content=[TextContent(type="text", text=_TEXT)],
        structured_content=data,
        is_error=arguments["fail"],
        _meta={META_KEY: data},
    )


def _maker(saw: Saw, csp: Csp | None) -> Callable[[], Awaitable[str]]:
    """Return what makes the View: the page, with the rules and what this View declares in it."""
    document = FileDocument(_PAGES / "probe.html", csp or Csp(), openai=False)
    settings = {
        "rules": rules.as_json(),
        "version": __version__,
        "declares": csp is not None,
        "domain": _DOMAIN,
        "data": _DATA,
        "key": META_KEY,
    }
    text = json.dumps(settings, ensure_ascii=False).replace("<", "\\u003c")

    async def probe() -> str:
        """The host probe: each rule of MCP Apps for hosts, and how this host keeps it."""
        saw.reads += 1
        return (await document.read()).replace(_PLACE, text)

    return probe
