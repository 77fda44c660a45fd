"""Documents of other dialects, made ready to be served: with a shim before them, as a frame for a page, or as a text.

What a shim does happens inside the document, with the document's own rights: the bridge and the policy see nothing but
the standard.
"""

import base64
import html
from typing import Any, Final
from urllib.parse import urlencode, urlsplit, urlunsplit

from fanlight.browser import page, shim
from fanlight.host.views.channel import encode
from fanlight.host.views.documents import ViewDocument
from fanlight.host.web.inject import put_first
from fanlight.protocol.csp import Csp
from fanlight.protocol.html import find_doctype
from fanlight.protocol.jsonrpc import JSONObject

_EXTERNAL_HEIGHT: Final = 400.0
_MOST_KNOWN: Final = 1_500_000
"""What may stand behind the # of an address. A browser takes addresses of two million characters."""


def served_html(document: ViewDocument) -> str:
    """Return a document as it is served."""
    match document.form:
        case "standard":
            return document.html
        case "openai":
            return _with(shim("openai", {}), document.html)
        case "mcp-ui":
            given = {"renderData": document.render_data, "height": document.height}
            return _with(shim("mcpui", _known(given)), document.html)
        case "source":
            return _with(shim("mcpui", {}), page("source.html").replace("SOURCE", html.escape(document.html)))
        case "external":
            return _external(document)


def _external(document: ViewDocument) -> str:
    assert document.url is not None
    assert isinstance(document.csp, Csp)
    (origin,) = document.csp.frame_domains
    parts = urlsplit(document.url)
    # So mcp-ui tells a page that it will be given data.
    query = (
        "&".join(filter(None, (parts.query, urlencode({"waitForRenderData": "true"}))))
        if document.render_data
        else parts.query
    )
    address = html.escape(urlunsplit(parts._replace(query=query)))
    given = {
        "renderData": document.render_data,
        "height": document.height or _EXTERNAL_HEIGHT,
        "origin": _canonical(origin),
    }
    return _with(shim("mcpui", given), page("external.html").replace("ADDRESS", address))


def _canonical(origin: str) -> str:
    """Return an origin as a browser writes it, without the port that its scheme has anyway."""
    return origin.removesuffix({"http": ":80", "https": ":443"}[origin.partition(":")[0]])


def _with(script: str, text: str) -> str:
    """Put a script before everything else in a document.

    One without a doctype gets one: mcp-ui's documents were shown by `srcdoc`, which needs none.
    """
    return put_first(script, text if find_doctype(text) else f"<!doctype html>{text.removeprefix(chr(0xFEFF))}")


def known_at_start(context: JSONObject, capabilities: JSONObject, arguments: Any, result: Any, state: Any) -> str:
    """Return what a document for ChatGPT is to know when it first runs, for the part of its address behind the #."""
    known = _known({"context": context, "capabilities": list(capabilities), "state": state})
    # What is too much comes a moment later, as a message.
    for more in ({"input": arguments, "result": result}, {"input": arguments}, {}):
        text = base64.b64encode(encode({**known, **_known(more)}).encode("utf-8", "replace")).decode()
        if len(text) <= _MOST_KNOWN:
            return text
    return ""


def _known(given: JSONObject) -> JSONObject:
    return {key: value for key, value in given.items() if value is not None}
