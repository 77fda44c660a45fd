"""Negotiation: a client that did not negotiate MCP Apps sees a server without them (NEG-01 to NEG-05).

One middleware on the SDK's lowlevel server serves every kind of server, transport and protocol version, because all of
their requests pass through it. It changes the wire form of these results:

    initialize, server/discover    adds the extension to the capabilities, or removes it
    tools/list                     removes UI metadata and app-only tools
    resources/list                 removes ui:// entries, and unlisted Views for every client
    resources/templates/list       removes ui:// entries
    resources/read                 responds for a hidden View as for an unknown resource
    tools/call                     responds for a hidden tool as for an unknown one; removes Views and UI metadata from
                                   results, and adds text to results that have none (NEG-05)
"""

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Set
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
from fanlight.protocol.openai import MetadataFormat
from fanlight.protocol.visibility import for_model
from fanlight.server.caller import current_request
from fanlight.server.registry import Registry

if TYPE_CHECKING:
    from fastmcp import FastMCP
    from mcp.server import MCPServer

Mode = Literal["strict", "always"]
Result = dict[str, Any]
_Context = ServerRequestContext[Any, Any]

logger = logging.getLogger(__name__)

# A request for a hidden name is passed on with one of these names, which no tool or resource can have. The server logs
# the name, so it contains the reason.
_HIDDEN_TOOL: Final = "{} (hidden: the client did not negotiate MCP Apps)"
_HIDDEN_URI: Final = "hidden-because-the-client-did-not-negotiate-mcp-apps-{}"

_KEYS_WITH_CHATGPT: Final = (*UI_KEYS, *openai.KEYS)

_MAX_PAGES = 1000


def negotiate(
    server: "Server[Any] | MCPServer[Any] | FastMCP[Any]", mode: Mode = "strict", also: Iterable[MetadataFormat] = ()
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
    server: "Server[Any] | MCPServer[Any] | FastMCP[Any]",
    mode: Mode,
    also: Iterable[MetadataFormat] = (),
    registry: Registry | None = None,
) -> None:
    """Make a server negotiate. Options and registry are merged with those of an earlier call."""
    chatgpt = "openai" in openai.check_formats(also)
    if mode not in ("strict", "always"):
        raise RegistrationError(f'negotiate is {mode!r}, expected "strict" or "always".')
    middleware = lowlevel(server).middleware
    for index, entry in enumerate(middleware):
        if isinstance(entry, Negotiation):
            middleware[index] = entry.merged(mode, chatgpt, registry)
            return
    middleware.append(Negotiation(mode, chatgpt, registry))


def negotiation_of(server: "Server[Any] | MCPServer[Any] | FastMCP[Any]") -> "Negotiation":
    """Return the middleware of a server that negotiates."""
    return next(entry for entry in lowlevel(server).middleware if isinstance(entry, Negotiation))


def lowlevel(server: object) -> Server[Any]:
    """Return the lowlevel server of any server that Fanlight accepts, or raise RegistrationError."""
    found = lowlevel_server(server)
    if found is not None:
        return found
    raise RegistrationError(
        f"Expected an mcp.server.MCPServer, an mcp.server.lowlevel.Server or a fastmcp.FastMCP (4.x), "
        f"not {type(server).__module__}.{type(server).__qualname__}."
    )


def supported(ctx: Any) -> bool:
    """Return whether the client of a request negotiated MCP Apps. `ctx` is the context of any kind of server."""
    session = getattr(ctx, "session", None)
    if session is None:
        raise ArgumentError(f"supported() takes the context that a tool receives, not {type(ctx).__name__}.")
    capabilities = session.client_capabilities
    if capabilities is None:
        return False
    return has_our_type(capabilities.extensions) or has_our_type(capabilities.experimental)


class Negotiation:
    """The middleware.

    With `chatgpt`, ChatGPT's keys are UI metadata too, and ChatGPT is a client that negotiated. `registry` is None for
    a server without `Apps`, whose tools other code registered.
    """

    def __init__(self, mode: Mode, chatgpt: bool, registry: Registry | None) -> None:
        self._mode = mode
        self._chatgpt = chatgpt
        self._registry = registry
        self._tools: Set[str] = registry.tools if registry else frozenset()
        self._unlisted: Set[str] = registry.unlisted if registry else frozenset()
        self._keys = _KEYS_WITH_CHATGPT if chatgpt else UI_KEYS
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
        token = current_request.set(ctx)
        try:
            return await handler(ctx, call_next)
        finally:
            current_request.reset(token)

    def merged(self, mode: Mode, chatgpt: bool, registry: Registry | None) -> "Negotiation":
        """Return this middleware with further options, or raise RegistrationError if they contradict its own."""
        if mode != self._mode:
            raise RegistrationError(
                f"This server already negotiates {self._mode!r} and cannot also negotiate {mode!r}. "
                "Give the mode once: to Apps(server, negotiate=...) or to negotiate(server, ...)."
            )
        if registry and self._registry:
            raise RegistrationError("This server already has an Apps. Use that object; a server has only one.")
        return Negotiation(mode, self._chatgpt or chatgpt, self._registry or registry)

    def supported(self, ctx: Any) -> bool:
        """Return whether the client of a request negotiated MCP Apps, or is ChatGPT where that counts."""
        if supported(ctx):
            return True
        capabilities = ctx.session.client_capabilities if self._chatgpt else None
        return capabilities is not None and openai.is_chatgpt(capabilities.experimental)

    def shows(self, ctx: _Context) -> bool:
        """Return whether the client of this request gets the apps."""
        if self._mode == "always" or self.supported(ctx):
            return True
        if (
            not self._warned
            and ctx.session.client_capabilities is None
            and ctx.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS
        ):
            self._warned = True
            logger.warning(
                "A request has no client capabilities, because a stateless HTTP server does not keep the handshake, "
                "so apps are hidden from it. Serve statefully, or use negotiate='always'."
            )
        return False

    async def _initialize(self, ctx: _Context, call_next: CallNext) -> HandlerResult:
        capabilities = (ctx.params or {}).get("capabilities")
        if not isinstance(capabilities, Mapping):
            capabilities = {}
        is_chatgpt = self._chatgpt and openai.is_chatgpt(capabilities.get("experimental"))
        shows = self._mode == "always" or is_chatgpt or negotiated(capabilities)
        return _advertise(await call_next(ctx), shows)

    async def _discover(self, ctx: _Context, call_next: CallNext) -> HandlerResult:
        return self._private(_advertise(await call_next(ctx), self.shows(ctx)))

    async def _list_tools(self, ctx: _Context, call_next: CallNext) -> HandlerResult:
        result = _wire(await call_next(ctx))
        if not self.shows(ctx):
            tools = result.get("tools", [])
            shown = [without_ui(tool, self._keys) for tool in tools if for_model(tool)]
            result = {**result, "tools": shown}
        return self._private(result)

    async def _call_tool(self, ctx: _Context, call_next: CallNext) -> HandlerResult:
        params = ctx.params or {}
        name = params.get("name")
        if self.shows(ctx) or not isinstance(name, str):
            return self._with_text(name, _wire(await call_next(ctx)))
        if await self._is_hidden(name, ctx, call_next):
            return await _pass_on(_HIDDEN_TOOL.format(name), "name", ctx, call_next)
        return self._with_text(name, _without_views(without_ui(_wire(await call_next(ctx)), self._keys)))

    async def _list_resources(self, ctx: _Context, call_next: CallNext) -> HandlerResult:
        result = _wire(await call_next(ctx))
        shows = self.shows(ctx)
        if not shows or self._unlisted:
            listed = [
                entry if shows else without_ui(entry, self._keys)
                for entry in result.get("resources", [])
                if entry["uri"] not in self._unlisted and (shows or not entry["uri"].startswith(URI_SCHEME))
            ]
            result = {**result, "resources": listed}
        return self._private(result)

    async def _list_templates(self, ctx: _Context, call_next: CallNext) -> HandlerResult:
        result = _wire(await call_next(ctx))
        if not self.shows(ctx):
            entries = result.get("resourceTemplates", [])
            plain = [entry for entry in entries if not entry["uriTemplate"].startswith(URI_SCHEME)]
            result = {**result, "resourceTemplates": plain}
        return self._private(result)

    async def _read_resource(self, ctx: _Context, call_next: CallNext) -> HandlerResult:
        uri = (ctx.params or {}).get("uri")
        if not isinstance(uri, str) or not uri.startswith(URI_SCHEME):
            return await call_next(ctx)
        if not self.shows(ctx):
            return await _pass_on(_HIDDEN_URI.format(uri), "uri", ctx, call_next)
        return self._private(_wire(await call_next(ctx)))

    def _private(self, result: Result) -> Result:
        """Mark a response as private, because it differs between clients and a shared cache must not reuse it."""
        if self._mode == "strict" and result.get("cacheScope") == "public":
            return {**result, "cacheScope": "private"}
        return result

    def _with_text(self, tool: object, result: Result) -> Result:
        """Add text to a complete result that has no content (NEG-05)."""
        if tool not in self._tools or result.get("content") or result.get("resultType", "complete") != "complete":
            return result
        return {**result, "content": [{"type": "text", "text": _as_text(tool, result)}]}

    async def _is_hidden(self, name: str, ctx: _Context, call_next: CallNext) -> bool:
        """Return whether a tool is currently hidden from clients without MCP Apps."""
        if self._registry is not None:
            return not for_model({"_meta": await self._registry.find_meta(name)})
        meta = (ctx.params or {}).get("_meta")
        params = {} if meta is None else {"_meta": meta}
        for _ in range(_MAX_PAGES):
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
    """Return a result in its wire form, which it has unless another middleware comes after this one."""
    if isinstance(result, dict):
        return result
    if isinstance(result, BaseModel):
        return result.model_dump(by_alias=True, mode="json", exclude_none=True)
    return {}


def _advertise(result: HandlerResult, shows: bool) -> Result:
    """Add the extension to the server's capabilities, or remove it.

    The SDK drops `extensions` from the response to `initialize`, because the protocol versions with a handshake do not
    define it.
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


async def _pass_on(decoy: str, key: str, ctx: _Context, call_next: CallNext) -> HandlerResult:
    """Respond to a request for something hidden exactly as the server does for something unknown.

    The request is passed on with a decoy for the name, which no tool or resource has, and the response gets the real
    name. If the server accepts the decoy too, the response is an error all the same.
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
        # The name may be in the message as it is, or escaped by repr().
        return value.replace(old, new).replace(repr(old)[1:-1], repr(new)[1:-1])
    if isinstance(value, Mapping):
        return {key: _renamed(entry, old, new) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_renamed(entry, old, new) for entry in value]
    return value


def _without_views(result: Result) -> Result:
    """Return a tool result without the blocks that embed a View or link to one."""
    content = result.get("content")
    if not isinstance(content, list):
        return result
    plain = [block for block in content if not (embeds_view(block) or links_view(block))]
    return result if len(plain) == len(content) else {**result, "content": plain}


def _as_text(tool: object, result: Result) -> str:
    """Return a result without text as text that a model can use."""
    structured = result.get("structuredContent")
    if isinstance(structured, Mapping) and set(structured) == {"result"}:
        structured = structured["result"]
    if structured is not None:
        return pydantic_core.to_json(structured, indent=2).decode("utf-8")
    return f"{tool} failed without a message." if result.get("isError") else f"{tool} finished and returned nothing."
