"""Documents of other dialects as standard Views: with a shim before them, as a frame for a page, or as shown source.

A shim runs inside the document, with the document's own rights, so the bridge and the policy only see the standard.
"""

import base64
import html
from typing import Any, Final
from urllib.parse import urlencode, urlsplit, urlunsplit

from fanlight.browser import page, shim
from fanlight.host.documents.view_document import ViewDocument
from fanlight.host.json_text import encode_json
from fanlight.host.web.sandbox.inject import put_first
from fanlight.protocol.csp import Csp
from fanlight.protocol.html import find_doctype
from fanlight.protocol.jsonrpc import JSONObject

_EXTERNAL_HEIGHT: Final = 400.0
_MAX_FRAGMENT: Final = 1_500_000
"""The longest fragment of a document's address, in characters. Browsers accept addresses of two million characters."""


def served_html(document: ViewDocument) -> str:
    """Return the HTML that is served for a document."""
    match document.form:
        case "standard":
            return document.html
        case "openai":
            return _with_shim(shim("openai", {}), document.html)
        case "mcp-ui":
            options = {"renderData": document.render_data, "height": document.height}
            return _with_shim(shim("mcpui", _without_none(options)), document.html)
        case "source":
            return _with_shim(shim("mcpui", {}), page("source.html").replace("SOURCE", html.escape(document.html)))
        case "external":
            return _external(document)


def _external(document: ViewDocument) -> str:
    assert document.url is not None
    assert isinstance(document.csp, Csp)
    (origin,) = document.csp.frame_domains
    parts = urlsplit(document.url)
    # How mcp-ui announces to a page that data will follow.
    query = (
        "&".join(filter(None, (parts.query, urlencode({"waitForRenderData": "true"}))))
        if document.render_data
        else parts.query
    )
    address = html.escape(urlunsplit(parts._replace(query=query)))
    options = {
        "renderData": document.render_data,
        "height": document.height or _EXTERNAL_HEIGHT,
        "origin": _canonical(origin),
    }
    return _with_shim(shim("mcpui", options), page("external.html").replace("ADDRESS", address))


def _canonical(origin: str) -> str:
    """Return an origin as browsers write it, without the default port of its scheme."""
    return origin.removesuffix({"http": ":80", "https": ":443"}[origin.partition(":")[0]])


def _with_shim(script: str, text: str) -> str:
    """Insert a script before everything else in a document.

    A document without a doctype gets one: mcp-ui shows documents with `srcdoc`, where standards mode needs none.
    """
    return put_first(script, text if find_doctype(text) else f"<!doctype html>{text.removeprefix(chr(0xFEFF))}")


def initial_state_fragment(
    context: JSONObject, capabilities: JSONObject, arguments: Any, result: Any, state: Any
) -> str:
    """Return the initial `window.openai` state of a document for ChatGPT, as the fragment of its address."""
    known = _without_none({"context": context, "capabilities": list(capabilities), "state": state})
    # What does not fit arrives a moment later, as a message.
    for more in ({"input": arguments, "result": result}, {"input": arguments}, {}):
        state_json = encode_json({**known, **_without_none(more)})
        text = base64.b64encode(state_json.encode("utf-8", "replace")).decode()
        if len(text) <= _MAX_FRAGMENT:
            return text
    return ""


def _without_none(values: JSONObject) -> JSONObject:
    return {key: value for key, value in values.items() if value is not None}
