"""Rules about the negotiation of MCP Apps, and about what a server offers to clients without it."""

from collections.abc import Iterator, Mapping

from fanlight.protocol.extension import EXTENSION_ID, MIME_TYPE, URI_SCHEME
from fanlight.protocol.visibility import for_model
from fanlight.rules.observation import Look, Response, ServerObservation, label_of
from fanlight.rules.rule import ADVICE, IMPLIED, MAY, MUST, NOT_BREAKABLE, SHOULD, Problem, Section
from fanlight.rules.server import short_json

section = Section("Negotiation")

section.unchecked(
    "DSC-08",
    IMPLIED,
    "MCP Apps is optional, and client and server negotiate it.",
    "NEG-01 to NEG-06 state it in detail.",
    binds="all",
)
section.host_rule(
    "NEG-01",
    IMPLIED,
    "The host advertises the extension `io.modelcontextprotocol/ui` to servers.",
    aliases=["mcp-apps-cap-01"],
)
section.host_rule(
    "NEG-02",
    MUST,
    "The host advertises MCP Apps with the MIME types that it supports, in `mimeTypes`.",
    aliases=["capabilities/mimetypes-required"],
)


@section.rule(
    "NEG-03",
    SHOULD,
    "A server offers Views only to clients that advertise MCP Apps.",
    aliases=["mcp-apps-cap-02", "mcp-apps-cap-03", "mcp-apps-cap-04", "mcp-apps-res-02", "mcp-apps-tool-02"],
    fix="Look at the client's extensions before you offer Views. In Fanlight: Apps(server) or negotiate(server).",
)
def negotiated_views(seen: ServerObservation) -> Iterator[Problem]:
    with_ui, plain = seen.newest(), seen.newest(ui=False)
    if with_ui is None or plain is None:
        return
    tools = [str(tool.get("name")) for tool, _ in plain.links()]
    listed = [str(entry.get("uri")) for entry in plain.resources if str(entry.get("uri")).startswith(URI_SCHEME)]
    if tools or listed:
        shown = " and ".join(
            f"{kind} {', '.join(found[:3])}{' ...' if len(found) > 3 else ''}"
            for found, kind in ((tools, "the links of"), (listed, "the Views"))
            if found
        )
        yield Problem("server", f"shows {shown} to a client that did not advertise MCP Apps.")


@section.rule(
    "NEG-04",
    SHOULD,
    "Every tool with a View works as text in clients without MCP Apps.",
    aliases=["mcp-apps-cap-05", "mcp-apps-reg-01", "mcp-apps-reg-03"],
)
def works_without_views(seen: ServerObservation) -> Iterator[Problem]:
    with_ui, plain = seen.newest(), seen.newest(ui=False)
    if with_ui is None or plain is None:
        return
    names = {str(tool.get("name")) for tool in plain.tools}
    for tool, _ in with_ui.links():
        if not for_model(tool):
            continue
        if str(tool.get("name")) not in names:
            message = "is missing for a client without MCP Apps."
            yield Problem(label_of(tool), message, "Offer it to every client, with its result as text.")
        elif (call := plain.calls.get(str(tool.get("name")))) is not None and _is_empty(call.response):
            message = "returns no content to a client without MCP Apps."
            yield Problem(label_of(tool), message, "Return text that says what the View would show.")


@section.rule(
    "NEG-05",
    MUST,
    "A tool with a View returns content for the model, too.",
    fix="Return text beside the structuredContent.",
)
def content_for_the_model(seen: ServerObservation) -> Iterator[Problem]:
    look = seen.newest()
    if look is None:
        return
    for tool, _ in look.links():
        call = look.calls.get(str(tool.get("name")))
        if call is not None and for_model(tool) and _is_empty(call.response):
            message = f"returns no content for {short_json(call.arguments)}: the model gets nothing."
            yield Problem(label_of(tool), message)


def _is_empty(response: Response) -> bool:
    """Return whether a call succeeded with empty content. Failed calls are not judged."""
    result = response.result
    if result is None or result.get("isError"):
        return False
    content = result.get("content")
    if not isinstance(content, list) or not content:
        return True
    blocks = [block for block in content if isinstance(block, dict)]
    return all(block.get("type") == "text" and not str(block.get("text") or "").strip() for block in blocks)


section.unchecked(
    "NEG-06", MAY, "A server may offer different tools to different hosts.", NOT_BREAKABLE, binds="server"
)


@section.rule(
    "ADV-08",
    ADVICE,
    "A server with Views advertises MCP Apps.",
    fix=f'Add {{"mimeTypes": ["{MIME_TYPE}"]}} under extensions.',
)
def advertised_extension(seen: ServerObservation) -> Iterator[Problem]:
    looks = [look for look in seen.looks if look.ui and any(True for _ in look.links())]
    advertised = [look.capabilities.get("extensions") for look in looks]
    if looks and not any(isinstance(each, Mapping) and EXTENSION_ID in each for each in advertised):
        yield Problem("capabilities", f"has Views, but does not advertise {EXTENSION_ID}.")


@section.rule(
    "RSV-01",
    IMPLIED,
    "`ui://` and the name of the extension are reserved for MCP Apps.",
    aliases=["mcp-apps-reg-04"],
)
def reserved_names(look: Look) -> Iterator[Problem]:
    named = [uri for _, uri in look.links()]
    for entry in look.resources:
        uri, mime_type = str(entry.get("uri")), entry.get("mimeType")
        if uri.startswith(URI_SCHEME) and uri not in named and mime_type is not None and "html" not in str(mime_type):
            message = f"has the scheme of Views, but the mimeType {mime_type!r}."
            yield Problem(uri, message, "Give it another scheme: ui:// is reserved for Views.")
    experimental = look.capabilities.get("experimental")
    if isinstance(experimental, Mapping) and EXTENSION_ID in experimental:
        message = f"{EXTENSION_ID} is advertised under experimental."
        yield Problem("capabilities", message, "Advertise it under extensions.")
