"""A View: one `ui://` document with what it declares, and its parts for the wire."""

import base64
import logging
import urllib.parse
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from mcp_types import BlobResourceContents, EmbeddedResource, Resource, TextResourceContents

from fanlight.protocol import metadata, openai
from fanlight.protocol.csp import Csp, check_host_name
from fanlight.protocol.errors import RegistrationError
from fanlight.protocol.extension import MIME_TYPE
from fanlight.protocol.metadata import Permission, Visibility
from fanlight.protocol.openai import Dialect
from fanlight.server.bundle.document import as_document
from fanlight.server.document import Document, FileDocument, MadeDocument, Maker, TextDocument, resolve

logger = logging.getLogger(__name__)

Encoding = Literal["text", "blob"]

_NO_DOMAINS = Csp()


@dataclass(frozen=True)
class _Text:
    html: str


class View:
    """A `ui://` HTML document that a host shows beside a tool's result.

    Each read serves the current content: a change to the file, or to a file that it refers to, shows at the next read.

    Args:
        source: A path to an `.html` file or to a folder with an `index.html`, relative to the file that creates the
            View; or a function, sync or async, that returns the HTML for each read. For a string use `View.html`.
        uri: The URI by which hosts read it, used byte for byte. Default: `ui://<server name>/<stem>`. A string or a
            lambda has no stem and needs a URI.
        name: The name for `resources/list`. Default: the stem of the file or folder, or the name of the function.
        title: The title for `resources/list`. Default: the document's `<title>`; for a function, none.
        description: The description for `resources/list`. Default: the document's `<meta name="description">`; for a
            function, its docstring; otherwise a sentence with the title or name.
        csp: The origins that the View may reach. Default: none, so there is no network at all.
        permissions: Any of `camera`, `microphone`, `geolocation` and `clipboard-write`. Default: none.
        domain: A dedicated origin: a bare host name in the form that the target host documents. Hosts may refuse a View
            whose domain they do not accept. Default: none.
        prefers_border: Whether the host should draw a border and a background. Default: the host decides.
        encoding: `"text"`, or `"blob"` to serve the document as base64.
        listed: False keeps the View out of `resources/list`, for hosts that prefetch whatever is listed.
        also: `["openai"]` for ChatGPT's own keys and `window.openai`. `Apps` adds its own to the Views that it
            registers.
    """

    def __init__(
        self,
        source: "str | Path | Maker | _Text",
        uri: str | None = None,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        csp: Csp | None = None,
        permissions: Iterable[Permission] | None = None,
        domain: str | None = None,
        prefers_border: bool | None = None,
        encoding: Encoding = "text",
        listed: bool = True,
        also: Iterable[Dialect] = (),
    ) -> None:
        self._uri = None if uri is None else metadata.check_uri(uri)
        if csp is not None and not isinstance(csp, Csp):
            raise RegistrationError(f"csp is {csp!r}, expected a Csp. Write Csp(connect_domains=[...]).")
        if encoding not in ("text", "blob"):
            raise RegistrationError(f'encoding is {encoding!r}, expected "text" or "blob".')
        if not isinstance(listed, bool):
            raise RegistrationError(f"listed is {listed!r}, expected True or False.")
        for field, value in (("name", name), ("title", title), ("description", description)):
            if not isinstance(value, str | None):
                raise RegistrationError(f"{field} is {value!r}, expected a str.")
        if not (prefers_border is None or isinstance(prefers_border, bool)):
            raise RegistrationError(f"prefers_border is {prefers_border!r}, expected True, False or None.")
        self.csp = csp
        self.permissions = metadata.check_permissions(permissions)
        self.domain = None if domain is None else check_host_name(domain, "domain")
        self.prefers_border = prefers_border
        self.encoding: Encoding = encoding
        self.listed = listed
        self.also = openai.check_dialects(also)
        self.meta = self._made_meta({})
        self._source = resolve(source) if isinstance(source, str | Path) else source
        self._document = _document(self._source, csp or _NO_DOMAINS, "openai" in self.also)
        self.name = name or self._document.stem or (uri.rsplit("/", 1)[-1] if uri else None)
        self.title = title or self._document.title
        self.description = description or self._document.description or _description(self.title or self.name)

    @classmethod
    def html(cls, text: str, uri: str | None = None, **options: Any) -> Self:
        """Create a View from a string. It needs a `uri`; `options` are those of `View`."""
        if not isinstance(text, str):
            raise RegistrationError(f"View.html takes the document as a str, not {type(text).__name__}.")
        return cls(_Text(text), uri, **options)

    @classmethod
    def embedded(cls, resource: EmbeddedResource, also: Iterable[Dialect] = ()) -> Self:
        """Create a View from an embedded resource, such as those of `fanlight.mcpui`.

        The URI, the HTML and what `_meta` declares are those of the resource. An HTML fragment becomes a document.
        """
        contents = resource.resource
        kind = (contents.mime_type or "").split(";")[0].strip().lower()
        if not kind.startswith("text/html"):
            raise RegistrationError(f"{contents.uri} is {contents.mime_type}, and only HTML can be a View.")
        text = contents.text if isinstance(contents, TextResourceContents) else _decoded(contents)
        meta = dict(contents.meta or {})
        declared = metadata.read_resource_meta(meta.pop(metadata.UI_KEY, {}), contents.uri)
        facts: dict[str, Any] = {name: getattr(contents, name, None) for name in ("name", "title", "description")}
        encoding: Encoding = "text" if isinstance(contents, TextResourceContents) else "blob"
        view = cls(_Text(as_document(text)), contents.uri, **facts, **declared, encoding=encoding, also=also)
        view.meta = {**meta, **view.meta}
        return view

    @property
    def uri(self) -> str:
        """The URI by which hosts read it. Raise `RegistrationError` if the View has none yet."""
        if self._uri is None:
            raise RegistrationError(
                "This View has no URI yet. Register it with apps.view(...) or apps.tool(view=...), "
                'or give it one: View(..., uri="ui://clock/view").'
            )
        return self._uri

    def speak(self, also: Iterable[Dialect]) -> None:
        """Add dialects to those that the View was created with."""
        also = openai.check_dialects((*self.also, *also))
        if also != self.also:
            self.also = also
            self.meta = self._made_meta(self.meta)
            self._document = _document(self._source, self.csp or _NO_DOMAINS, "openai" in also)

    @property
    def is_bound(self) -> bool:
        """Whether the View has its URI."""
        return self._uri is not None

    @property
    def sources(self) -> tuple[Hashable, ...]:
        """What means this View when it is given again: its file and, for a folder's index.html, the folder."""
        return self._document.sources

    def bind(self, server_name: str) -> None:
        """Take the default URI of a server, unless the View has one."""
        if self._uri is not None:
            return
        if self._document.stem is None:
            raise RegistrationError(
                "A View made from a string or a lambda has no file name to make its URI of. "
                'Write uri="ui://<server>/<name>".'
            )
        parts = (urllib.parse.quote(part, safe="-._~") for part in (server_name, self._document.stem))
        self._uri = metadata.check_uri("ui://" + "/".join(parts))

    def tool_meta(
        self,
        visibility: Iterable[Visibility] | None = None,
        invoking: str | None = None,
        invoked: str | None = None,
    ) -> dict[str, Any]:
        """The `_meta` of a tool that shows this View. ChatGPT says `invoking` while it runs and `invoked` after."""
        chosen = metadata.check_visibility(visibility)
        return tool_meta(self.uri, chosen, self.also, invoking, invoked)

    def resource(self) -> Resource:
        """Return the entry for `resources/list`."""
        return Resource(
            uri=self.uri,
            name=self.name or self.uri,
            title=self.title,
            description=self.description,
            mime_type=MIME_TYPE,
            _meta=self.meta or None,
        )

    async def contents(self) -> list[TextResourceContents | BlobResourceContents]:
        """Return the content items for `resources/read`: one item with the current document (RES-03 to RES-06)."""
        meta = self.meta or None
        content = await self.read()
        if isinstance(content, bytes):
            blob = base64.b64encode(content).decode("ascii")
            return [BlobResourceContents(uri=self.uri, blob=blob, mime_type=MIME_TYPE, _meta=meta)]
        return [TextResourceContents(uri=self.uri, text=content, mime_type=MIME_TYPE, _meta=meta)]

    async def read(self) -> str | bytes:
        """Return the current document: a str, or bytes for `encoding="blob"`."""
        text = await self._document.read()
        return text.encode("utf-8") if self.encoding == "blob" else text

    async def read_for_client(self, failure: type[Exception]) -> str | bytes:
        """Read the document for a client. What goes wrong is logged; `failure` tells the client only that it did."""
        try:
            return await self.read()
        except RegistrationError as error:
            # The reason names files of the server, which are not the client's business.
            logger.error("The View %s cannot be read: %s", self.uri, error)
            raise failure(f"The View {self.uri} cannot be read; the server's log says why.") from None

    def _made_meta(self, other: Mapping[str, Any]) -> dict[str, Any]:
        """Make the `_meta` of the list entry and of the content item, beside other keys."""
        meta = {**other, **metadata.resource_meta(self.csp, self.permissions, self.domain, self.prefers_border)}
        if "openai" in self.also:
            meta |= openai.resource_meta(self.csp, self.domain, self.prefers_border)
        return meta

    def __repr__(self) -> str:
        return f"<View {self._uri or self.name or 'without URI'}>"


def tool_meta(
    uri: str | None,
    visibility: Iterable[Visibility] | None,
    also: Iterable[Dialect],
    invoking: str | None = None,
    invoked: str | None = None,
) -> dict[str, Any]:
    """Build a tool's `_meta` in all dialects."""
    meta = metadata.tool_meta(uri, visibility)
    if "openai" in also:
        return meta | openai.tool_meta(uri, visibility, invoking, invoked)
    if invoking is not None or invoked is not None:
        raise RegistrationError('invoking and invoked are for ChatGPT alone. Write also=["openai"] as well.')
    return meta


def _decoded(contents: BlobResourceContents) -> str:
    try:
        return base64.b64decode(contents.blob, validate=True).decode("utf-8")
    except ValueError as error:
        raise RegistrationError(f"The blob of {contents.uri} is not base64 of UTF-8: {error}.") from None


def _document(source: "Path | Maker | _Text", csp: Csp, openai: bool) -> Document:
    if isinstance(source, _Text):
        return TextDocument(source.html, csp, openai)
    if isinstance(source, Path):
        return FileDocument(source, csp, openai)
    if callable(source):
        return MadeDocument(source, csp, openai)
    raise RegistrationError(
        f"A View's source is {source!r}. Expected a path to an .html file or folder, View.html(text), or a function."
    )


def _description(label: str | None) -> str:
    return f"The View {label!r}, an HTML document for hosts that show MCP Apps." if label else "An MCP Apps View."
