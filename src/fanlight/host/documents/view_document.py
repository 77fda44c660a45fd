"""`ViewDocument`: a View's HTML and metadata, validated."""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, NamedTuple

from fanlight.host.documents.declarations import read_border, read_csp, read_domain, read_permissions
from fanlight.host.documents.mcpui import page_address, page_origin, preferred_height, render_data
from fanlight.host.documents.tool_link import standard_ui
from fanlight.host.errors import ViewError
from fanlight.protocol.csp import Csp
from fanlight.protocol.dialects import ROWS, Row, meta_of, older_type, translate_meta
from fanlight.protocol.extension import MIME_TYPE
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.protocol.metadata import Permission

Form = Literal["standard", "mcp-ui", "openai", "external", "source"]
"""How a document is served: as it is, with a shim for another dialect, as a frame for a web page, or as text."""

_FORMS: Final[Mapping[str, Form]] = {
    "text/html": "mcp-ui",
    "text/html+skybridge": "openai",
    "text/uri-list": "external",
    "application/vnd.mcp-ui.remote-dom": "source",
}


@dataclass(frozen=True)
class ViewDocument:
    """The document of a View as its server returned it. Its metadata has only values that are safe in a header."""

    uri: str
    html: str = field(repr=False)
    sha256: str
    """The digest of the document's bytes in UTF-8."""
    csp: Csp | None
    """None if the server declares nothing: then nothing is reachable (CSP-02)."""
    permissions: tuple[Permission, ...]
    domain: str | None
    prefers_border: bool | None
    mime_exact: bool
    """Whether the MIME type is the standard's, byte for byte. Other hosts refuse any other spelling."""
    problems: tuple[str, ...] = ()
    """Invalid declarations, which are ignored, for the server's author."""
    form: Form = "standard"
    older: Mapping[str, str] = field(default_factory=dict)
    """The names of other dialects that were translated, with today's."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """The names of other dialects that were ignored because the host refuses dialects, with today's."""
    url: str | None = None
    """The web page that the View frames, or None."""
    render_data: JSONObject = field(default_factory=dict)
    """The data that the View gets when it starts, from mcp-ui's metadata."""
    height: float | None = None
    """The preferred height in pixels, from mcp-ui's metadata."""
    embedded: bool = False
    """Whether it came in the result of a call, so that it belongs to the View of that call alone."""


class UiMetadata(NamedTuple):
    """The `ui` metadata of a resource."""

    ui: Mapping[str, Any] = {}
    older: tuple[str, ...] = ()
    """The keys of other dialects beside it."""


def ui_metadata(item: Mapping[str, Any], *, dialects: bool) -> UiMetadata:
    """Return the `ui` metadata of a resource; without `dialects`, only what stands under the standard's key."""
    ui, older = translate_meta(meta_of(item))
    return UiMetadata(ui if dialects else standard_ui(item), older)


def parse_document(uri: str, item: JSONObject, metadata: UiMetadata, *, dialects: bool) -> ViewDocument:
    """Validate an item of `resources/read`, or raise ViewError."""
    problems: list[str] = []
    mime = item.get("mimeType")
    row = _dialect(uri, mime, dialects)
    html = _html(uri, item)
    form: Form = "standard" if row is None else _FORMS.get(row.older, "standard")
    url = page_address(uri, html, is_list=form == "external") if dialects else None
    ui = metadata.ui
    csp = read_csp(ui.get("csp"), problems) if url is None else Csp(frame_domains=(page_origin(uri, url),))
    names = {row.older: row.today for row in ROWS if row.kind == "key" and row.older in metadata.older}
    older, refused = (names, {}) if dialects else ({}, names)
    if row is not None:
        older[row.older] = row.today
    if mime != MIME_TYPE:
        problems.append(f"mimeType is {mime!r}. Other hosts want it byte for byte: {MIME_TYPE!r}.")
    if item.get("uri") != uri:
        problems.append(f"the content's uri is {item.get('uri')!r}, not the one asked for (RES-06).")
    return ViewDocument(
        uri=uri,
        html=html,
        sha256=hashlib.sha256(html.encode()).hexdigest(),
        csp=csp,
        permissions=read_permissions(ui.get("permissions"), problems),
        domain=read_domain(ui.get("domain"), problems),
        prefers_border=read_border(ui.get("prefersBorder"), problems),
        mime_exact=mime == MIME_TYPE,
        problems=tuple(f"{uri}: {problem}" for problem in problems),
        form="external" if url is not None else form,
        older=older,
        refused=refused,
        url=url,
        render_data=render_data(meta_of(item)),
        height=preferred_height(meta_of(item)),
    )


def embedded_document(item: JSONObject) -> ViewDocument:
    """Return the document that a tool result embeds, or raise ViewError."""
    document = parse_document(item["uri"], item, ui_metadata(item, dialects=True), dialects=True)
    # It may use mcp-ui's messages even with today's type: servers adopted the type first.
    form: Form = "mcp-ui" if document.form == "standard" else document.form
    return replace(document, form=form, embedded=True)


def _dialect(uri: str, mime: object, dialects: bool) -> Row | None:
    """Return the row of the dialect that a MIME type belongs to, or None for the standard's. Raise ViewError if bad."""
    if _is_standard(mime):
        return None
    row = older_type(mime)
    if row is not None and not dialects:
        raise ViewError(
            f"The View {uri} has the MIME type {mime!r}, of another dialect ({row.dialect}), which this host refuses."
        )
    if row is None and mime is not None:
        raise ViewError(f"The View {uri} has the MIME type {mime!r}, not HTML. Write {MIME_TYPE!r}.")
    return row


def _is_standard(mime: object) -> bool:
    """Return whether a MIME type is the standard's. Spaces, quotes and case do not matter."""
    parts = "".join(mime.split()).replace('"', "").lower().split(";") if isinstance(mime, str) else [""]
    return parts[0] == "text/html" and "profile=mcp-app" in parts


def _html(uri: str, item: JSONObject) -> str:
    text, blob = item.get("text"), item.get("blob")
    if isinstance(text, str):
        # A lone surrogate is valid in JSON but not in UTF-8; a browser would show U+FFFD, too.
        return text if text.isascii() else text.encode("utf-8", "replace").decode()
    if not isinstance(blob, str):
        raise ViewError(f"The View {uri} came with neither text nor blob. Return the HTML in one of them.")
    try:
        return base64.b64decode(blob, validate=False).decode("utf-8-sig")
    except ValueError as error:  # invalid base64, ASCII or UTF-8
        raise ViewError(f"The View {uri} came as a blob that is not base64 of UTF-8: {error}.") from None
