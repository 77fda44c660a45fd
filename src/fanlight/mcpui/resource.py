"""`create_ui_resource`: a resource with HTML, a web page or a remote-dom script, for the result of a tool.

content        MIME type                                                   with legacy=True
rawHtml        text/html;profile=mcp-app                                   text/html
externalUrl    text/html;profile=mcp-app, a View that frames the page      text/uri-list
remoteDom      application/vnd.mcp-ui.remote-dom+javascript; framework=…   the same: there is no standard form
"""

import base64
import html
import re
import string
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Literal, Required, TypedDict
from urllib.parse import urlsplit

from mcp_types import Annotations, BlobResourceContents, EmbeddedResource, TextResourceContents
from pydantic import ConfigDict, ValidationError
from pydantic_core import PydanticSerializationError

from fanlight.mcpui.adapters import adapter_script, get_adapter_mime_type, wrap_html_with_adapters
from fanlight.mcpui.exceptions import EncodingError, InvalidContentError, InvalidURIError
from fanlight.protocol.csp import Csp
from fanlight.protocol.errors import RegistrationError
from fanlight.protocol.extension import MIME_TYPE
from fanlight.protocol.metadata import UI_KEY, check_uri

URI = str
"""A `ui://` URI."""
Encoding = Literal["text", "blob"]
MimeType = Literal[
    "text/html;profile=mcp-app",
    "text/html",
    "text/html+skybridge",
    "text/uri-list",
    "application/vnd.mcp-ui.remote-dom+javascript; framework=react",
    "application/vnd.mcp-ui.remote-dom+javascript; framework=webcomponents",
]
"""The MIME types that `create_ui_resource` uses."""

UI_METADATA_PREFIX = "mcpui.dev/ui-"
"""The prefix of the keys of `uiMetadata` in `_meta`."""

_OPTIONS = {
    "uri": "uri",
    "content": "content",
    "encoding": "encoding",
    "uiMetadata": "ui_metadata",
    "metadata": "metadata",
    "resourceProps": "resource_props",
    "embeddedResourceProps": "embedded_resource_props",
    "adapters": "adapters",
    "legacy": "legacy",
}
_FRAMEWORKS = ("react", "webcomponents")
_CSS_SIZE = re.compile(r"(?:0|[0-9]{1,6}(?:\.[0-9]{1,4})?(?:px|%|vh|vw|vmin|vmax|rem|em|ch|svh|dvh|lvh))")
_HEIGHT = "600px"


class RawHtmlPayload(TypedDict):
    """HTML as a string."""

    type: Literal["rawHtml"]
    htmlString: str


class ExternalUrlPayload(TypedDict):
    """A web page."""

    type: Literal["externalUrl"]
    iframeUrl: str


class RemoteDomPayload(TypedDict):
    """A script that describes elements for the host to draw."""

    type: Literal["remoteDom"]
    script: str
    framework: Literal["react", "webcomponents"]


ResourceContentPayload = RawHtmlPayload | ExternalUrlPayload | RemoteDomPayload
"""The `content` of a UI resource: HTML, a web page, or a remote-dom script."""


class CreateUIResourceOptions(TypedDict, total=False):
    """The dict that `create_ui_resource` accepts, with the names of mcp-ui."""

    uri: Required[URI]
    """A `ui://` URI."""
    content: Required[ResourceContentPayload]
    """HTML, a web page, or a remote-dom script."""
    encoding: Encoding
    """`"text"` or `"blob"`."""
    uiMetadata: Mapping[str, Any]
    """Keys for `_meta`, written with `UI_METADATA_PREFIX`."""
    metadata: Mapping[str, Any]
    """Keys for `_meta`, written unchanged."""
    resourceProps: Mapping[str, Any]
    """Further fields of the resource."""
    embeddedResourceProps: Mapping[str, Any]
    """`annotations` and `_meta` of the block around the resource."""
    adapters: Mapping[str, Any]
    """The adapter to enable."""
    legacy: bool
    """Whether to use the MIME types of mcp-ui."""


class UIMetadataKey:
    """The keys of `uiMetadata` that mcp-ui hosts support."""

    PREFERRED_FRAME_SIZE = "preferred-frame-size"
    """Width and height of the frame, as CSS lengths or pixels."""
    INITIAL_RENDER_DATA = "initial-render-data"
    """Data that the widget receives when it starts."""


class _Text(TextResourceContents):
    model_config = ConfigDict(extra="allow")


class _Blob(BlobResourceContents):
    model_config = ConfigDict(extra="allow")


class UIResource(EmbeddedResource):
    """A UI resource, an `mcp_types.EmbeddedResource`. Return it from a tool, or give it to `apps.tool(view=...)`."""

    def to_dict(self) -> dict[str, Any]:
        """Return the wire form of the resource."""
        return self.model_dump(by_alias=True, mode="json", exclude_none=True, serialize_as_any=True)


def create_ui_resource(
    options: Mapping[str, Any] | None = None,
    /,
    *,
    uri: str | None = None,
    content: Mapping[str, Any] | None = None,
    encoding: Encoding | None = None,
    ui_metadata: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
    resource_props: Mapping[str, Any] | None = None,
    embedded_resource_props: Mapping[str, Any] | None = None,
    adapters: Mapping[str, Any] | None = None,
    legacy: bool | None = None,
) -> UIResource:
    """Create a UI resource from a dict with the names of mcp-ui, from keywords, or from both.

    HTML gets the MIME type of MCP Apps, or that of mcp-ui with `legacy=True`.

    Args:
        options: The same options as a dict with the names of mcp-ui, such as `uiMetadata`.
        uri: A `ui://` URI, used byte for byte.
        content: `{"type": "rawHtml", "htmlString"}`, `{"type": "externalUrl", "iframeUrl"}` or
            `{"type": "remoteDom", "script", "framework"}`.
        encoding: `"text"`, which is the default, or `"blob"`.
        ui_metadata: Keys for `_meta`, written with the prefix `mcpui.dev/ui-`: `preferred-frame-size` and
            `initial-render-data`.
        metadata: Keys for `_meta`, written unchanged. They override `ui_metadata`. `{"ui": {...}}` is the metadata of
            MCP Apps.
        resource_props: Further fields of the resource. Its `_meta` overrides all others.
        embedded_resource_props: `annotations` and `_meta` of the block around the resource.
        adapters: `{"mcpApps": {"enabled": True}}` or `{"appsSdk": {"enabled": True}}`, one of them. `config` takes
            `intentHandling` and `timeout`; `appsSdk` also takes `mimeType`.
        legacy: Whether to use the MIME types of mcp-ui instead of those of the standard.
    """
    keywords = {
        "uri": uri,
        "content": content,
        "encoding": encoding,
        "ui_metadata": ui_metadata,
        "metadata": metadata,
        "resource_props": resource_props,
        "embedded_resource_props": embedded_resource_props,
        "adapters": adapters,
        "legacy": legacy,
    }
    return _create(**_merged(options, {name: value for name, value in keywords.items() if value is not None}))


def _merged(options: Mapping[str, Any] | None, keywords: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(options, Mapping | None):
        raise InvalidContentError(f"create_ui_resource takes a dict or keywords, not {type(options).__name__}.")
    merged: dict[str, Any] = {}
    for key, value in (options or {}).items():
        name = _OPTIONS.get(key, key)
        if name not in _OPTIONS.values():
            raise InvalidContentError(f"There is no option {key!r}. The options are {', '.join(_OPTIONS)}.")
        if value is not None:
            merged[name] = value
    if twice := merged.keys() & keywords.keys():
        raise InvalidContentError(f"{', '.join(sorted(twice))} is given twice, in the dict and as a keyword.")
    return merged | keywords


def _create(
    uri: object = None,
    content: object = None,
    encoding: object = "text",
    ui_metadata: object = None,
    metadata: object = None,
    resource_props: object = None,
    embedded_resource_props: object = None,
    adapters: Any = None,
    legacy: object = False,
) -> UIResource:
    if not isinstance(legacy, bool):
        raise InvalidContentError(f"legacy is {legacy!r}, expected True or False.")
    address = _checked_uri(uri)
    ui = _dict(ui_metadata, "uiMetadata")
    props = _dict(resource_props, "resourceProps")
    text, mime_type, framed = _content(_dict(content, "content"), ui, adapters, legacy)
    meta = {
        **{f"{UI_METADATA_PREFIX}{key}": value for key, value in ui.items()},
        **_dict(metadata, "metadata"),
        **_dict(props.pop("_meta", None), "resourceProps._meta"),
    }
    if framed is not None:
        meta[UI_KEY] = _declared(framed, meta.get(UI_KEY))
    for key in ("uri", "mimeType", "text", "blob"):
        if key in props:
            raise InvalidContentError(f"resourceProps has {key!r}, which create_ui_resource writes itself.")
    contents = _contents(address, text, mime_type, encoding, meta or None, props)
    outer = _dict(embedded_resource_props, "embeddedResourceProps")
    if unknown := outer.keys() - {"annotations", "_meta"}:
        raise InvalidContentError(f"embeddedResourceProps has {sorted(unknown)}. It takes annotations and _meta.")
    annotations = outer.get("annotations")
    try:
        made = UIResource(
            type="resource",
            resource=contents,
            annotations=None if annotations is None else Annotations.model_validate(annotations),
            _meta=outer.get("_meta"),
        )
        made.to_dict()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise InvalidContentError(f"embeddedResourceProps cannot be used: {place}: {first['msg']}.") from None
    except PydanticSerializationError as error:
        raise InvalidContentError(f"The metadata of {address} cannot be written as JSON: {error}.") from None
    return made


def _checked_uri(uri: object) -> str:
    try:
        return check_uri(uri)
    except RegistrationError as error:
        raise InvalidURIError(str(error)) from None


def _dict(value: object, field: str) -> dict[str, Any]:
    if not isinstance(value, Mapping | None):
        raise InvalidContentError(f"{field} is {value!r}, expected a dict.")
    return dict(value or {})


def _contents(
    uri: str, text: str, mime_type: str, encoding: object, meta: dict[str, Any] | None, props: dict[str, Any]
) -> _Text | _Blob:
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise EncodingError(f"The content of {uri} cannot be encoded as UTF-8: {error.reason}.") from None
    if encoding == "text":
        return _Text(uri=uri, mime_type=mime_type, text=text, _meta=meta, **props)
    if encoding == "blob":
        blob = base64.b64encode(content).decode("ascii")
        return _Blob(uri=uri, mime_type=mime_type, blob=blob, _meta=meta, **props)
    raise InvalidContentError(f'encoding is {encoding!r}, expected "text" or "blob".')


def _content(content: dict[str, Any], ui: dict[str, Any], adapters: Any, legacy: bool) -> tuple[str, str, str | None]:
    """Return the text of a content, its MIME type, and the origin of the page that it frames, or None."""
    adapted = get_adapter_mime_type(adapters)
    match content.get("type"):
        case "rawHtml":
            text = wrap_html_with_adapters(_part(content, "htmlString"), adapters, _render_data(ui))
            return text, adapted or ("text/html" if legacy else MIME_TYPE), None
        case "externalUrl":
            url = _part(content, "iframeUrl")
            origin = _origin(url)
            if legacy:
                return url, "text/uri-list", None
            return _frame(url, ui, adapters), adapted or MIME_TYPE, origin
        case "remoteDom":
            framework = content.get("framework")
            if framework not in _FRAMEWORKS:
                raise InvalidContentError(f"content.framework is {framework!r}, expected one of {_FRAMEWORKS}.")
            kind = f"application/vnd.mcp-ui.remote-dom+javascript; framework={framework}"
            return _part(content, "script"), kind, None
        case kind:
            raise InvalidContentError(f'content.type is {kind!r}, expected "rawHtml", "externalUrl" or "remoteDom".')


def _part(content: dict[str, Any], name: str) -> str:
    value = content.get(name)
    if isinstance(value, str) and value:
        return value
    raise InvalidContentError(f"content.{name} is {value!r}, expected a string that is not empty.")


def _render_data(ui: dict[str, Any]) -> dict[str, Any]:
    return _dict(ui.get(UIMetadataKey.INITIAL_RENDER_DATA), UIMetadataKey.INITIAL_RENDER_DATA)


def _frame(url: str, ui: dict[str, Any], adapters: Any) -> str:
    """Return the HTML of a View that shows a page in a frame. The page is not fetched here."""
    data = _render_data(ui)
    width, height = _size(ui.get(UIMetadataKey.PREFERRED_FRAME_SIZE))
    page = string.Template(files("fanlight.mcpui").joinpath("frame.html").read_text(encoding="utf-8"))
    return page.substitute(
        title=html.escape(urlsplit(url).hostname or ""),
        url=html.escape(_with_wait_parameter(url) if data else url),
        width=width,
        height=height,
        adapter=adapter_script(adapters, data, frame="page"),
    )


def _declared(origin: str, ui: object) -> dict[str, Any]:
    """Return a `_meta.ui` with the origin of a frame added to its declarations."""
    declared = _dict(ui, "_meta.ui")
    csp = _dict(declared.get("csp"), "_meta.ui.csp")
    frames = dict.fromkeys([origin, *csp.get("frameDomains", [])])
    return {**declared, "csp": {**csp, "frameDomains": list(frames)}}


def _origin(url: str) -> str:
    """Return the origin of a page, or raise InvalidContentError if the page cannot be framed."""
    try:
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        if parts.scheme not in ("http", "https") or parts.username is not None or re.search(r"[\s\\*]", url):
            raise ValueError
        return Csp(frame_domains=[origin]).wire()["frameDomains"][0]
    except ValueError:
        raise InvalidContentError(
            f'content.iframeUrl is {url!r}, expected the address of a page. Write something like "https://example.com/".'
        ) from None


def _with_wait_parameter(url: str) -> str:
    """Return the URL with the parameter by which mcp-ui hosts announce render data."""
    parts = urlsplit(url)
    query = "&".join(filter(None, (parts.query, "waitForRenderData=true")))
    return parts._replace(query=query).geturl()


def _size(value: object) -> tuple[str, str]:
    """Return the preferred width and height of the frame, as CSS lengths."""
    if value is None:
        return "100%", _HEIGHT
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise InvalidContentError(f'preferred-frame-size is {value!r}, expected a pair such as ["100%", "400px"].')
    sizes = [f"{part}px" if isinstance(part, int | float) else str(part) for part in value]
    for size in sizes:
        if not _CSS_SIZE.fullmatch(size):
            raise InvalidContentError(f'preferred-frame-size has {size!r}, expected a CSS length such as "400px".')
    return sizes[0], sizes[1]
