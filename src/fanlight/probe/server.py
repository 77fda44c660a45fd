"""The probe's server: tools that show its View, tools that the View calls or must not call, and what it records."""

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
from fanlight.probe.report import ReportError, rules_for_view, summarize, validate_report, write_report
from fanlight.protocol.extension import EXTENSION_ID
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.server.html_source import FileSource

META_KEY: Final = "fanlight/probe"
_PAGES: Final = Path(__file__).parent / "pages"
_SETTINGS_PLACEHOLDER: Final = '{ "rules": [] }'
_MAX_RUNS: Final = 100
_MAX_SECONDS: Final = 120.0
_READ_ONLY: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)

# Names that never resolve (RFC 6761): a request that the policy allows fails at the network instead.
_DOMAIN: Final = "fanlight-probe.invalid"
_CSP: Final = Csp(
    connect_domains=[f"https://connect.{_DOMAIN}"],
    resource_domains=[f"https://resource.{_DOMAIN}", f"https://*.wild.{_DOMAIN}"],
    frame_domains=[f"https://frame.{_DOMAIN}"],
    base_uri_domains=[f"https://base.{_DOMAIN}"],
)
_TEXT: Final = """\
The View of the probe tests the host, which takes some seconds. Call probe_results for the report. If no View is \
shown, this host does not support MCP Apps, and there is nothing to report."""
_DATA: Final[JSONObject] = {
    "text": "Grüße, 世界, \U0001f44b",
    "numbers": [0, -1, 1.5, 9007199254740991],
    "nothing": None,
    "yes": True,
    "nested": {"deep": {"empty": [], "object": {}}},
}


@dataclass
class Record:
    """What the server recorded of its client."""

    runs: "OrderedDict[str, JSONObject]" = field(default_factory=OrderedDict)
    """The arguments of each run of the probe, by the run's id."""
    reads: int = 0
    forbidden_calls: Counter[str] = field(default_factory=Counter)
    """How often each tool was called that no View may call."""
    cancelled: int = 0
    report: JSONObject | None = None
    forged: set[str] = field(default_factory=set)
    """The runs that forged messages of the sandbox. A run that does it twice was reloaded by the first attempt."""


def probe_server(report: Path | None = None) -> MCPServer[Any]:
    """Make the probe's server. With `report`, each report is written to that file."""
    server: MCPServer[Any] = MCPServer("fanlight-probe", version=__version__, log_level="WARNING")
    # Hosts that show Views without advertising MCP Apps have to be tested, too.
    apps = Apps(server, negotiate="always")
    record = Record()
    options: JSONObject = {"title": "Host probe", "prefers_border": False}
    uri = "ui://fanlight-probe/view"
    full = View(_document(record, _CSP), uri=uri, name="probe", csp=_CSP, permissions=["clipboard-write"], **options)
    bare = View(_document(record, None), uri="ui://fanlight-probe/bare", name="bare", **options)

    @apps.tool(view=full, title="Probe this host", annotations=_READ_ONLY, structured_output=False)
    async def probe_host(note: str = "", seconds: float = 0, fail: bool = False) -> CallToolResult:
        """Test whether the host that shows this app follows the rules of MCP Apps.

        `note` is any text, and is returned. With `seconds`, the call takes that long, so that it can be cancelled.
        With `fail`, it returns an error.
        """
        return await _run(record, {"note": note, "seconds": seconds, "fail": fail})

    @apps.tool(view=bare, title="Probe this host without domains", annotations=_READ_ONLY, structured_output=False)
    async def probe_host_bare(note: str = "", seconds: float = 0, fail: bool = False) -> CallToolResult:
        """Test the host as probe_host does, with a View that declares no domains."""
        return await _run(record, {"note": note, "seconds": seconds, "fail": fail})

    @apps.tool(annotations=_READ_ONLY)
    def probe_results() -> str:
        """Return the report of the last probe of this host."""
        return "No View has reported yet." if record.report is None else summarize(record.report)

    @apps.tool(annotations=_READ_ONLY, structured_output=False)
    def probe_echo(payload: Any = None, fail: bool = False) -> CallToolResult:
        """Return the payload. For the probe's View."""
        text = TextContent(type="text", text=json.dumps(payload, ensure_ascii=False))
        data = {"payload": payload}
        return CallToolResult(content=[text], structured_content=data, is_error=fail, _meta={META_KEY: data})

    @apps.tool(visibility=["model"], annotations=_READ_ONLY)
    def probe_model_only() -> str:
        """Record the call. Only the model may call this tool, and the probe's View tries to."""
        record.forbidden_calls["probe_model_only"] += 1
        return "called"

    @server.tool(meta={"ui": {"visibility": []}}, annotations=_READ_ONLY)
    def probe_nobody() -> str:
        """Record the call. Nobody may call this tool, and the probe's View tries to."""
        record.forbidden_calls["probe_nobody"] += 1
        return "called"

    @apps.tool(visibility=["app"], annotations=_READ_ONLY)
    async def probe_wait(seconds: float, ctx: Context[Any, Any]) -> str:
        """Wait, and report progress."""
        steps = 4
        try:
            for step in range(1, steps + 1):
                await anyio.sleep(min(seconds, _MAX_SECONDS) / steps)
                await ctx.report_progress(step, steps, "waiting")
        except anyio.get_cancelled_exc_class():
            record.cancelled += 1
            raise
        return "waited"

    @apps.tool(visibility=["app"], annotations=_READ_ONLY)
    def probe_record(ctx: Context[Any, Any], run: str = "", forge: bool = False) -> JSONObject:
        """Return what the server recorded of the host. With `forge`, note that the run will forge messages."""
        capabilities = ctx.session.client_capabilities
        extensions = None if capabilities is None else capabilities.extensions
        forged = run in record.forged
        if forge:
            record.forged.add(run)
        return {
            "arguments": record.runs.get(run),
            "reads": record.reads,
            "forbiddenCalls": record.forbidden_calls,
            "cancelled": record.cancelled,
            "extension": (extensions or {}).get(EXTENSION_ID),
            "experimental": None if capabilities is None else (capabilities.experimental or {}).get(EXTENSION_ID),
            "protocol": ctx.protocol_version,
            "forged": forged,
        }

    # It writes a file only if the user named one, and only then hosts have a reason to ask.
    writes = ToolAnnotations(read_only_hint=False)

    @apps.tool(visibility=["app"], annotations=_READ_ONLY if report is None else writes)
    def probe_report(found: JSONObject) -> JSONObject:
        """Keep the View's report."""
        try:
            record.report = validate_report(found)
        except ReportError as error:
            raise ToolError(str(error)) from None
        if report is not None:
            write_report(record.report, report)
        return {"written": report is not None}

    return server


async def _run(record: Record, arguments: JSONObject) -> CallToolResult:
    run = secrets.token_hex(8)
    record.runs[run] = arguments
    while len(record.runs) > _MAX_RUNS:
        record.runs.popitem(last=False)
    await anyio.sleep(min(arguments["seconds"], _MAX_SECONDS))
    data = {"run": run, "arguments": arguments, "data": _DATA}
    return CallToolResult(
        content=[TextContent(type="text", text=_TEXT)],
        structured_content=data,
        is_error=arguments["fail"],
        _meta={META_KEY: data},
    )


def _document(record: Record, csp: Csp | None) -> Callable[[], Awaitable[str]]:
    """Return a function that makes the View's document: the page, with the rules and the View's own settings in it."""
    document = FileSource(_PAGES / "probe.html", csp or Csp(), openai=False)
    settings = {
        "rules": rules_for_view(),
        "version": __version__,
        "declares": csp is not None,
        "domain": _DOMAIN,
        "data": _DATA,
        "key": META_KEY,
    }
    text = json.dumps(settings, ensure_ascii=False).replace("<", "\\u003c")

    async def probe() -> str:
        """The host probe: each rule of MCP Apps for hosts, and whether this host follows it."""
        record.reads += 1
        return (await document.read()).replace(_SETTINGS_PLACEHOLDER, text)

    return probe
