"""Negotiation: a client that did not ask for apps sees a server without them (NEG-01 to NEG-05).

One middleware on the SDK's lowlevel server does it for every kind of server, transport and protocol
version, because all of them pass there, as the wire form of each result:

    initialize, server/discover    the extension is put into the capabilities, or taken out
    tools/list                     UI metadata and app-only tools are taken out
    resources/list, templates      ui:// entries are taken out; unlisted Views always are
    tools/call, resources/read     what is hidden answers as if it did not exist
"""

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal

import pydantic_core
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import BaseModel

from fanlight.lowlevel import lowlevel_server
from fanlight.protocol import openai
from fanlight.protocol.content import embeds_view, links_view
from fanlight.protocol.errors import ArgumentError, RegistrationError
from fanlight.protocol.extension import EXTENSION_ID, SERVER_SETTINGS, URI_SCHEME, has_our_type, negotiated
from fanlight.protocol.metadata import UI_KEYS, without_ui
from fanlight.protocol.openai import Dialect
from fanlight.protocol.visibility import for_model

if TYPE_CHECKING:
    from fastmcp import FastMCP
    from mcp.server import MCPServer

Mode = Literal["strict", "always"]
Result = dict[str, Any]
_Context = ServerRequestContext[Any, Any]
FindMeta = Callable[[str], Awaitable[Mapping[str, Any] | None]]

logger = logging.getLogger(__name__)

# What a hidden name is asked for instead. No tool can have such a name, and a server's log says why.
_HIDDEN_TOOL: Final = "{} (hidden: the client did not negotiate MCP Apps)"
_HIDDEN_URI: Final = "hidden-{}"

_KEYS_WITH_CHATGPT: Final = (*UI_KEYS, *openai.KEYS)

_MOST_PAGES = 1000


def negotiate(
    server: "Server[Any] | MCPServer[Any] | FastMCP[Any]", mode: Mode = "strict", also: Iterable[Dialect] = ()
) -> None:
    """Make a server negotiate MCP Apps, for tools with Views that other code registered.

    A server that has `Apps` negotiates already; calling this again changes nothing.

    Args:
        server: An `mcp.server.lowlevel.Server`, an `mcp.server.MCPServer` or a `fastmcp.FastMCP`.
        mode: `"strict"` shows apps only to clients that negotiated them, `"always"` to every client.
        also: `["openai"]` treats ChatGPT as a client that negotiated, and removes its keys for clients that did not.
    """
    install(server, mode, also)


def install(
    server: "Server[Any] | MCPServer[Any] | FastMCP[Any]", mode: Mode, also: Iterable[Dialect] = ()
) -> "Negotiation":
    """Return the negotiation of a server, putting one in place if there is none."""
    chatgpt = "openai" in openai.check_dialects(also)
    if mode not in ("strict", "always"):
        raise RegistrationError(f'negotiate is {mode!r}, expected "strict" or "always".')
    middleware = lowlevel(server).middleware
    for entry in middleware:
        if isinstance(entry, Negotiation):
            if entry.mode != mode:
                raise RegistrationError(
                    f"This server already negotiates {entry.mode!r} and cannot also negotiate {mode!r}. "
                    "Give the mode once: to Apps(server, negotiate=...) or to negotiate(server, ...)."
                )
            entry.chatgpt = entry.chatgpt or chatgpt
            return entry
    negotiation = Negotiation(mode)
    negotiation.chatgpt = chatgpt
    middleware.append(negotiation)
    return negotiation


def lowlevel(server: object) -> Server[Any]:
    """Return the SDK's lowlevel server behind any of the servers that Fanlight takes, or raise."""
    found = lowlevel_server(server)
    if found is not None:
        return found
    raise RegistrationError(
        f"Expected an mcp.server.MCPServer, an mcp.server.lowlevel.Server or a fastmcp.FastMCP (4.x), "
        f"not {type(server).__module__}.{type(server).__qualname__}."
    )


def supported(ctx: Any) -> bool:
    """Tell whether the client behind a request context of any server negotiated apps."""
    session = getattr(ctx, "session", None)
    if session is None:
        raise ArgumentError(f"supported() takes the context that a tool receives, not {type(ctx).__name__}.")
    capabilities = session.client_capabilities
    if capabilities is None:
        return False
    return has_our_type(capabilities.extensions) or has_our_type(capabilities.experimental)


class Negotiation:
    """The middleware. `unlisted` holds the URIs of Views that stay out of lists."""

    def __init__(self, mode: Mode) -> None:
        self.mode = mode
        self.unlisted: set[str] = set()
        self.tools: set[str] = set()
        """Names of tools whose structured results are given a text fallback when they bring none."""
        self.find_meta: FindMeta | None = None
        """Finds a tool's metadata by its name; without it, the tools are listed."""
        self.taken = False
        """Whether an `Apps` serves this server."""
        self.chatgpt = False
        """Whether ChatGPT's keys are UI metadata here, and ChatGPT a client that asked for apps."""
        self._warned = False
        self._handlers: dict[str, Callable[[_Context, CallNext], Awaitable[HandlerResult]]] = {
            "initialize": self._initialize,
            "server/discover": self._discover,
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
            "resources/list": self._list_resources,
            "resources/templates/list": self._list_templates,
            "resources/read": self._read_resource,
        }

    async def __call__(self, ctx: _Context, call_next: CallNext) -> HandlerResult:
        handler = self._handlers.get(ctx.method)
        if handler is None or ctx.request_id is None:
            return await call_next(ctx)
        return await handler(ctx, call_next)

    def supported(self, ctx: Any) -> bool:
        """Tell whether the client behind a request context asked for apps, in any of the ways that count here."""
        if supported(ctx):
            return True
        capabilities = ctx.session.client_capabilities if self.chatgpt else None
        return capabilities is not None and openai.is_chatgpt(capabilities.experimental)

    @property
    def _keys(self) -> tuple[str, ...]:
        return _KEYS_WITH_CHATGPT if self.chatgpt else UI_KEYS

    def _shows(self, ctx: _Context) -> bool:
        """Tell whether this request's client gets the apps."""
        if self.mode == "always" or self.supported(ctx):
            return True
        if (
            not self._warned
            and ctx.session.client_capabilities is None
            and ctx.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS
        ):
            self._warned = True
            logger.warning(
                "A request came without its client's capabilities (a stateless HTTP server forgets the handshake), "
                "so apps stay hidden from it. Serve statefully, or use negotiate='always'."
            )
        return False

    async def _initialize(self, ctx: _Context, call_next: CallNext) -> HandlerResult:
        capabilities = (ctx.params or {}).get("capabilities")
        if not isinstance(capabilities, Mapping):
            capabilities = {}
        is_chatgpt = self.chatgpt and openai.is_chatgpt(capabilities.get("experimental"))
        shows = self.mode == "always" or is_chatgpt or negotiated(capabilities)
        return _advertise(await call_next(ctx), shows)

    async def _discover(self, ctx: _Context, call_next: CallNext) -> HandlerResult:
        return self._private(_advertise(await call_next(ctx), self._shows(ctx)))

    async def _list_tools(self, ctx: _Context, call_next: CallNext) -> HandlerResult:
        result = _wire(await call_next(ctx))
        if not self._shows(ctx):
            tools = result.get("tools", [])
            shown = [without_ui(tool, self._keys) for tool in tools if for_model(tool)]
            result = {**result, "tools": shown}
        return self._private(result)

    async def _call_tool(self, ctx: _Context, call_next: CallNext) -> HandlerResult:
        params = ctx.params or {}
        name = params.get("name")
        if self._shows(ctx) or not isinstance(name, str):
            return self._with_text(name, _wire(await call_next(ctx)))
        if await self._is_hidden(name, ctx, call_next):
            return await _ask_for(_HIDDEN_TOOL.format(name), "name", ctx, call_next)
        return self._with_text(name, _without_views(without_ui(_wire(await call_next(ctx)), self._keys)))

    async def _list_resources(self, ctx: _Context, call_next: CallNext) -> HandlerResult:
        result = _wire(await call_next(ctx))
        shows = self._shows(ctx)
        if not shows or self.unlisted:
            listed = [
                entry if shows else without_ui(entry, self._keys)
                for entry in result.get("resources", [])
                if entry["uri"] not in self.unlisted and (shows or not entry["uri"].startswith(URI_SCHEME))
            ]
            result = {**result, "resources": listed}
        return self._private(result)

    async def _list_templates(self, ctx: _Context, call_next: CallNext) -> HandlerResult:
        result = _wire(await call_next(ctx))
        if not self._shows(ctx):
            entries = result.get("resourceTemplates", [])
            plain = [entry for entry in entries if not entry["uriTemplate"].startswith(URI_SCHEME)]
            result = {**result, "resourceTemplates": plain}
        return self._private(result)

    async def _read_resource(self, ctx: _Context, call_next: CallNext) -> HandlerResult:
        uri = (ctx.params or {}).get("uri")
        if not isinstance(uri, str) or not uri.startswith(URI_SCHEME):
            return await call_next(ctx)
        if not self._shows(ctx):
            return await _ask_for(_HIDDEN_URI.format(uri), "uri", ctx, call_next)
        return self._private(_wire(await call_next(ctx)))

    def _private(self, result: Result) -> Result:
        """Keep a shared cache from giving one client's answer to another, now that answers differ."""
        if self.mode == "strict" and result.get("cacheScope") == "public":
            return {**result, "cacheScope": "private"}
        return result

    def _with_text(self, tool: object, result: Result) -> Result:
        """Fill in the text of a result that brings none (NEG-05)."""
        if tool not in self.tools or result.get("content") or result.get("resultType", "complete") != "complete":
            return result
        return {**result, "content": [{"type": "text", "text": _as_text(tool, result)}]}

    async def _is_hidden(self, name: str, ctx: _Context, call_next: CallNext) -> bool:
        """Tell whether a tool is hidden from this client, as the tools are now."""
        if self.find_meta is not None:
            return not for_model({"_meta": await self.find_meta(name)})
        meta = (ctx.params or {}).get("_meta")
        params = {} if meta is None else {"_meta": meta}
        for _ in range(_MOST_PAGES):
            try:
                page = _wire(await call_next(replace(ctx, method="tools/list", params=params)))
            except MCPError:
                return False
            for tool in page.get("tools", []):
                if tool["name"] == name:
                    return not for_model(tool)
            cursor = page.get("nextCursor")
            if cursor is None or cursor == params.get("cursor"):
                return False
            params = {**params, "cursor": cursor}
        return False


def _wire(result: HandlerResult) -> Result:
    """Return a result in its wire form; only a middleware inside of ours gives any other."""
    if isinstance(result, dict):
        return result
    if isinstance(result, BaseModel):
        return result.model_dump(by_alias=True, mode="json", exclude_none=True)
    return {}


def _advertise(result: HandlerResult, shows: bool) -> Result:
    """Put the extension into the server's capabilities, or take it out.

    The SDK drops `extensions` from the answer to a handshake, whose versions do not know it.
    """
    wire = _wire(result)
    capabilities = dict(wire.get("capabilities") or {})
    extensions = dict(capabilities.pop("extensions", None) or {})
    extensions.pop(EXTENSION_ID, None)
    if shows:
        extensions[EXTENSION_ID] = SERVER_SETTINGS
    if extensions:
        capabilities["extensions"] = extensions
    return {**wire, "capabilities": capabilities}


async def _ask_for(decoy: str, key: str, ctx: _Context, call_next: CallNext) -> HandlerResult:
    """Answer a request for something hidden exactly as the server answers one for something unknown.

    The server itself is asked for a name that it cannot have, and the answer is given the real name. A server that
    takes any name for known gets no say.
    """
    params = dict(ctx.params or {})
    name = params[key]
    try:
        result = await call_next(replace(ctx, params={**params, key: decoy}))
    except MCPError as error:
        raise MCPError(
            error.error.code,
            _renamed(error.error.message, decoy, name),
            _renamed(error.error.data, decoy, name),
        ) from None
    wire = _wire(result)
    if not wire.get("isError"):
        raise MCPError(INVALID_PARAMS, f"Unknown {'tool' if key == 'name' else 'resource'}: {name}", {key: name})
    renamed: Result = _renamed(wire, decoy, name)
    return renamed


def _renamed(value: Any, old: str, new: str) -> Any:
    if isinstance(value, str):
        # As it is, and as Python writes it in quotes.
        return value.replace(old, new).replace(repr(old)[1:-1], repr(new)[1:-1])
    if isinstance(value, Mapping):
        return {key: _renamed(entry, old, new) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_renamed(entry, old, new) for entry in value]
    return value


def _without_views(result: Result) -> Result:
    """Return a tool result without blocks that hand over a View or link to one."""
    content = result.get("content")
    if not isinstance(content, list):
        return result
    plain = [block for block in content if not (embeds_view(block) or links_view(block))]
    return result if len(plain) == len(content) else {**result, "content": plain}


def _as_text(tool: object, result: Result) -> str:
    """Write a result that has no text as text a model can use."""
    structured = result.get("structuredContent")
    if isinstance(structured, Mapping) and set(structured) == {"result"}:
        structured = structured["result"]
    if structured is not None:
        return pydantic_core.to_json(structured, indent=2).decode("utf-8")
    return f"{tool} failed and did not say why." if result.get("isError") else f"{tool} finished and returned nothing."
