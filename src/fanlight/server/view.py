"""A View: one `ui://` document with what it declares, and its parts for the wire."""

import base64
import logging
import urllib.parse
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from mcp_types import BlobResourceContents, Resource, TextResourceContents

from fanlight.protocol import metadata
from fanlight.protocol.csp import Csp, check_host_name
from fanlight.protocol.errors import RegistrationError
from fanlight.protocol.extension import MIME_TYPE
from fanlight.protocol.metadata import Permission, Visibility
from fanlight.server.document import Document, FileDocument, MadeDocument, Maker, TextDocument, resolve

logger = logging.getLogger(__name__)

Encoding = Literal["text", "blob"]

_NO_DOMAINS = Csp()


@dataclass(frozen=True)
class _Text:
    html: str


class View:
    """An HTML document that a host shows beside a tool's result.

    `source` is a path to an `.html` file or to a folder with an `index.html`, relative to the file that
    makes the View; or a function, sync or async, that returns the HTML for each read. For a string there
    is `View.html(...)`. Without a `uri` the View takes `ui://<server name>/<stem>` when it is registered.
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
        self.meta: dict[str, Any] = metadata.resource_meta(self.csp, self.permissions, self.domain, self.prefers_border)
        self._document = _document(source, csp or _NO_DOMAINS)
        self.name = name or self._document.stem or (uri.rsplit("/", 1)[-1] if uri else None)
        self.title = title or self._document.title
        self.description = description or self._document.description or _description(self.title or self.name)

    @classmethod
    def html(cls, text: str, uri: str | None = None, **options: Any) -> Self:
        """Make a View from a string; `options` are those of `View`."""
        if not isinstance(text, str):
            raise RegistrationError(f"View.html takes the document as a str, not {type(text).__name__}.")
        return cls(_Text(text), uri, **options)

    @property
    def uri(self) -> str:
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

    def tool_meta(self, visibility: Iterable[Visibility] | None = None) -> dict[str, Any]:
        """The `_meta` of a tool that shows this View."""
        return metadata.tool_meta(self.uri, metadata.check_visibility(visibility))

    def resource(self) -> Resource:
        """The View's entry for `resources/list`."""
        return Resource(
            uri=self.uri,
            name=self.name or self.uri,
            title=self.title,
            description=self.description,
            mime_type=MIME_TYPE,
            _meta=self.meta or None,
        )

    async def contents(self) -> list[TextResourceContents | BlobResourceContents]:
        """What `resources/read` answers: one content item with the document as it is now (RES-03 to RES-06)."""
        meta = self.meta or None
        content = await self.read()
        if isinstance(content, bytes):
            blob = base64.b64encode(content).decode("ascii")
            return [BlobResourceContents(uri=self.uri, blob=blob, mime_type=MIME_TYPE, _meta=meta)]
        return [TextResourceContents(uri=self.uri, text=content, mime_type=MIME_TYPE, _meta=meta)]

    async def read(self) -> str | bytes:
        """Read the document as it is now: a str, or bytes for `encoding="blob"`."""
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

    def __repr__(self) -> str:
        return f"<View {self._uri or self.name or 'without URI'}>"


def _document(source: "str | Path | Maker | _Text", csp: Csp) -> Document:
    if isinstance(source, _Text):
        return TextDocument(source.html, csp)
    if isinstance(source, str | Path):
        return FileDocument(resolve(source), csp)
    if callable(source):
        return MadeDocument(source, csp)
    raise RegistrationError(
        f"A View's source is {source!r}. Expected a path to an .html file or folder, View.html(text), or a function."
    )


def _description(label: str | None) -> str:
    return f"The View {label!r}, an HTML document for hosts that show MCP Apps." if label else "An MCP Apps View."
