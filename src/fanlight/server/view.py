"""A View: one `ui://` document with its declarations, and its parts for the wire."""

import base64
import logging
import urllib.parse
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, Self, TypedDict, Unpack

from mcp_types import BlobResourceContents, EmbeddedResource, Resource, TextResourceContents

from fanlight.protocol import metadata, openai
from fanlight.protocol.csp import Csp, check_host_name
from fanlight.protocol.errors import ArgumentError, RegistrationError
from fanlight.protocol.extension import MIME_TYPE
from fanlight.protocol.metadata import Permission, Visibility
from fanlight.protocol.openai import MetadataFormat
from fanlight.server.bundle.document import as_document
from fanlight.server.bundle.source_map import in_development
from fanlight.server.html_source import FileSource, FunctionSource, HtmlFunction, HtmlSource, TextSource, resolve

logger = logging.getLogger(__name__)

Encoding = Literal["text", "blob"]

_NO_DOMAINS = Csp()
_TEXT_FIELDS: Final = ("name", "title", "description")
_NEEDS_URI: Final = (
    "A View made from a string or a lambda has no file name from which to make its URI. "
    'Write View.html(text, uri="ui://<server>/<name>"), for example "ui://clock/view".'
)


@dataclass(frozen=True)
class _Text:
    """HTML as a string, and `_meta` keys besides those of MCP Apps."""

    html: str
    meta: Mapping[str, Any] = field(default_factory=dict)


class ViewOptions(TypedDict, total=False):
    """The options of a `View`, all keywords."""

    name: str | None
    """The name for `resources/list`. Default: the stem of the file or folder, or the name of the function."""
    title: str | None
    """The title for `resources/list`. Default: the document's `<title>`; for a function, none."""
    description: str | None
    """The description for `resources/list`. Default: the document's `<meta name="description">`; for a function, its
    docstring; otherwise a sentence with the title or name."""
    csp: Csp | None
    """The origins that the View may reach. Default: none, so there is no network at all."""
    permissions: Iterable[Permission] | None
    """Any of `camera`, `microphone`, `geolocation` and `clipboard-write`. Default: none."""
    domain: str | None
    """A dedicated origin: a bare host name in the form that the target host documents. Hosts may refuse a View whose
    domain they do not accept. Default: none."""
    prefers_border: bool | None
    """Whether the host should draw a border and a background. Default: the host decides."""
    encoding: Encoding
    """`"text"`, which is the default, or `"blob"` to serve the document as base64."""
    listed: bool
    """False keeps the View out of `resources/list`, for hosts that prefetch whatever is listed."""


class View:
    """A `ui://` HTML document that a host shows beside a tool's result.

    Each read serves the current content: a change to the file, or to a file that it refers to, shows at the next read.

    Args:
        source: A path to an `.html` file or to a folder with an `index.html`, relative to the file that creates the
            View; or a function, sync or async, that returns the HTML for each read. For a string use `View.html`.
        uri: The URI by which hosts read it, used byte for byte. Default: `ui://<server name>/<stem>`. A string or a
            lambda has no stem and needs a URI.
        also: `["openai"]` for ChatGPT's own keys and `window.openai`. `Apps` adds its own to the Views that it
            registers.
        options: The fields of `ViewOptions`, as keywords.
    """

    def __init__(
        self,
        source: "str | Path | HtmlFunction | _Text",
        uri: str | None = None,
        *,
        also: Iterable[MetadataFormat] = (),
        **options: Unpack[ViewOptions],
    ) -> None:
        _check_options(options)
        self._uri = None if uri is None else metadata.check_uri(uri)
        self.csp = options.get("csp")
        self.permissions = metadata.check_permissions(options.get("permissions"))
        domain = options.get("domain")
        self.domain = None if domain is None else check_host_name(domain, "domain")
        self.prefers_border = options.get("prefers_border")
        self.encoding: Encoding = options.get("encoding", "text")
        self.listed = options.get("listed", True)
        self.also = openai.check_formats(also)
        self.meta = self._built_meta(source.meta if isinstance(source, _Text) else {})
        self._source = resolve(source) if isinstance(source, str | Path) else source
        self._html = _html_source(self._source, self.csp or _NO_DOMAINS, "openai" in self.also)
        self.name = options.get("name") or self._html.stem or (uri.rsplit("/", 1)[-1] if uri else None)
        self.title = options.get("title") or self._html.title
        label = self.title or self.name
        self.description = options.get("description") or self._html.description or _description(label)

    @classmethod
    def html(
        cls,
        text: str,
        uri: str | None = None,
        *,
        also: Iterable[MetadataFormat] = (),
        **options: Unpack[ViewOptions],
    ) -> Self:
        """Create a View from a string. It needs a `uri`; the other arguments are those of `View`."""
        if not isinstance(text, str):
            raise RegistrationError(f"View.html takes the document as a str, not {type(text).__name__}.")
        if uri is None:
            raise RegistrationError(_NEEDS_URI)
        return cls(_Text(text), uri, also=also, **options)

    @classmethod
    def embedded(cls, resource: EmbeddedResource, also: Iterable[MetadataFormat] = ()) -> Self:
        """Create a View from an embedded resource, such as those of `fanlight.mcpui`.

        The View has the URI, the HTML and the declarations in `_meta` of the resource. A fragment of HTML becomes a
        document.
        """
        contents = resource.resource
        kind = (contents.mime_type or "").split(";")[0].strip().lower()
        if not kind.startswith("text/html"):
            raise RegistrationError(f"{contents.uri} is {contents.mime_type}, and only HTML can be a View.")
        text = contents.text if isinstance(contents, TextResourceContents) else _decoded(contents)
        meta = dict(contents.meta or {})
        declared = metadata.read_resource_meta(meta.pop(metadata.UI_KEY, {}), contents.uri)
        facts: dict[str, Any] = {name: getattr(contents, name, None) for name in _TEXT_FIELDS}
        encoding: Encoding = "text" if isinstance(contents, TextResourceContents) else "blob"
        return cls(_Text(as_document(text), meta), contents.uri, **facts, **declared, encoding=encoding, also=also)

    @property
    def uri(self) -> str:
        """The URI by which hosts read it. Raise `RegistrationError` if the View has none yet."""
        if self._uri is None:
            raise RegistrationError(
                "This View has no URI yet. Register it with apps.view(...) or apps.tool(view=...), "
                'or give it one: View(..., uri="ui://clock/view").'
            )
        return self._uri

    @property
    def is_bound(self) -> bool:
        """Whether the View has its URI."""
        return self._uri is not None

    @property
    def sources(self) -> tuple[Hashable, ...]:
        """The values by which an author may refer to this View: its function, its file, or that file's folder."""
        return self._html.sources

    def bind(self, server_name: str, also: Iterable[MetadataFormat]) -> None:
        """Set the default URI for a server, unless the View has a URI, and add the formats of the server's `Apps`."""
        if self._uri is None:
            if self._html.stem is None:
                raise RegistrationError(_NEEDS_URI)
            parts = (urllib.parse.quote(part, safe="-._~") for part in (server_name, self._html.stem))
            self._uri = metadata.check_uri("ui://" + "/".join(parts))
        formats = openai.check_formats((*self.also, *also))
        if formats != self.also:
            self.also = formats
            self.meta = self._built_meta(self.meta)
            self._html = _html_source(self._source, self.csp or _NO_DOMAINS, "openai" in formats)

    def tool_meta(
        self,
        visibility: Iterable[Visibility] | None = None,
        invoking: str | None = None,
        invoked: str | None = None,
    ) -> dict[str, Any]:
        """Return the `_meta` of a tool that shows this View. `invoking` and `invoked` are as for `apps.tool`."""
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
        text = await self._html.read()
        return text.encode("utf-8") if self.encoding == "blob" else text

    async def read_for_client(self, failure: type[Exception]) -> str | bytes:
        """Return the current document, or log the reason and raise `failure` for the client.

        The reason names files of the server, so only development tools, which have set an environment variable for this
        process, get it.
        """
        try:
            return await self.read()
        except RegistrationError as error:
            logger.error("The View %s cannot be read: %s", self.uri, error)
            if in_development():
                raise failure(f"The View {self.uri} cannot be read: {error}") from None
            raise failure(f"The View {self.uri} cannot be read; the server's log has the reason.") from None

    def _built_meta(self, other: Mapping[str, Any]) -> dict[str, Any]:
        """Return the `_meta` of the list entry and of the content item, with other keys added."""
        meta = {**other, **metadata.resource_meta(self.csp, self.permissions, self.domain, self.prefers_border)}
        if "openai" in self.also:
            meta |= openai.resource_meta(self.csp, self.domain, self.prefers_border)
        return meta

    def __repr__(self) -> str:
        return f"<View {self._uri or self.name or 'without URI'}>"


def tool_meta(
    uri: str | None,
    visibility: Iterable[Visibility] | None,
    also: Iterable[MetadataFormat],
    invoking: str | None = None,
    invoked: str | None = None,
) -> dict[str, Any]:
    """Build the `_meta` of a tool in all formats."""
    meta = metadata.tool_meta(uri, visibility)
    if "openai" in also:
        return meta | openai.tool_meta(uri, visibility, invoking, invoked)
    if invoking is not None or invoked is not None:
        raise RegistrationError('invoking and invoked are options for ChatGPT. Write also=["openai"], too.')
    return meta


def _decoded(contents: BlobResourceContents) -> str:
    try:
        return base64.b64decode(contents.blob, validate=True).decode("utf-8")
    except ValueError as error:
        raise RegistrationError(f"The blob of {contents.uri} is not base64 of UTF-8: {error}.") from None


def _check_options(options: ViewOptions) -> None:
    """Raise unless every option exists and has the right type. Permissions and domain are checked elsewhere."""
    for key in options:
        if key not in ViewOptions.__annotations__:
            known = ", ".join(ViewOptions.__annotations__)
            raise ArgumentError(f"A View has no option {key!r}. Its options are uri, also, {known}.")
    for name in _TEXT_FIELDS:
        if not isinstance(options.get(name), str | None):
            raise RegistrationError(f"{name} is {options.get(name)!r}, expected a str.")
    csp, prefers_border = options.get("csp"), options.get("prefers_border")
    encoding, listed = options.get("encoding", "text"), options.get("listed", True)
    if not isinstance(csp, Csp | None):
        raise RegistrationError(f"csp is {csp!r}, expected a Csp. Write Csp(connect_domains=[...]).")
    if not isinstance(prefers_border, bool | None):
        raise RegistrationError(f"prefers_border is {prefers_border!r}, expected True, False or None.")
    if encoding not in ("text", "blob"):
        raise RegistrationError(f'encoding is {encoding!r}, expected "text" or "blob".')
    if not isinstance(listed, bool):
        raise RegistrationError(f"listed is {listed!r}, expected True or False.")


def _html_source(source: "Path | HtmlFunction | _Text", csp: Csp, openai: bool) -> HtmlSource:
    if isinstance(source, _Text):
        return TextSource(source.html, csp, openai)
    if isinstance(source, Path):
        return FileSource(source, csp, openai)
    if callable(source):
        return FunctionSource(source, csp, openai)
    raise RegistrationError(
        f"A View's source is {source!r}. Expected a path to an .html file or folder, View.html(text), or a function."
    )


def _description(label: str | None) -> str:
    return f"The View {label!r}, an HTML document for hosts that show MCP Apps." if label else "An MCP Apps View."
