"""What to do about each thing that a View's Content-Security-Policy blocks."""

from typing import Final
from urllib.parse import urlsplit

_FIELDS: Final = {
    "connect-src": "connect_domains",
    "frame-src": "frame_domains",
    "base-uri": "base_uri_domains",
    "script-src": "resource_domains",
    "style-src": "resource_domains",
    "img-src": "resource_domains",
    "font-src": "resource_domains",
    "media-src": "resource_domains",
}
"""The field of `Csp` that fills each directive."""

_WITHOUT_ORIGIN: Final = {
    ("script-src", "eval"): (
        "A View must not compile code from strings (eval, new Function). Use a build of the library that does not: "
        'for Plotly, render_mode="svg" or the package plotly.js-strict-dist-min; for Vega and Altair, '
        "vegaEmbed(element, spec, { ast: true }) with vega-interpreter."
    ),
    ("script-src", "wasm-eval"): "A View must not compile WebAssembly. Do this work in a tool of the server.",
    ("script-src", "blob"): "A View must not load scripts from blob: URLs. Write them as inline scripts.",
    ("script-src", "data"): "A View must not load scripts from data: URLs. Write them as inline scripts.",
    ("worker-src", "blob"): "A View must not start workers from blob: URLs. Run the code on the page itself.",
    ("worker-src", "data"): "A View must not start workers from data: URLs. Run the code on the page itself.",
    ("img-src", "blob"): (
        "A View must not show blob: images. Use a data: URL, such as canvas.toDataURL() returns; to save a file, call "
        "app.downloadFile()."
    ),
    ("media-src", "blob"): "A View must not play blob: media. Use a data: URL.",
    ("font-src", "data"): (
        "A View must not load fonts from data: URLs. Use the fonts of the host (--font-sans), or a font file from an "
        'origin that you declare: csp=Csp(resource_domains=["https://..."]).'
    ),
    ("font-src", "blob"): "A View must not load fonts from blob: URLs. Use the fonts of the host (--font-sans).",
    ("connect-src", "blob"): "A View must not fetch blob: URLs. Read the Blob itself: await blob.text().",
    ("connect-src", "data"): "A View must not fetch data: URLs. Decode the data in JavaScript instead.",
}
_BY_DIRECTIVE: Final = {
    "form-action": (
        "A View must not submit forms. Call event.preventDefault() in the submit handler, and send the values with "
        "app.callServerTool()."
    ),
    "object-src": "A View must not use <object> or <embed>. Show the content as an image, or draw it on a <canvas>.",
    "worker-src": "A View may start workers only from its own origin. Run the code on the page itself.",
    "manifest-src": "A View has no use for a web app manifest. Remove <link rel=manifest>.",
    "frame-ancestors": "The page that shows the View is not one of the host's own.",
}
_DEFAULT: Final = "No setting allows this. Include the content in the document, or get it from a tool of the server."


def suggest_fix(directive: str, blocked: str) -> str:
    """Return what to write instead of what a View's policy blocked.

    `directive` and `blocked` are as a browser reports them: "img-src" with "https://a.example/x.png", "blob", "eval".
    """
    base = directive.removesuffix("-elem").removesuffix("-attr")
    kind = blocked.partition(":")[0]
    if (advice := _WITHOUT_ORIGIN.get((base, kind))) is not None:
        return advice
    origin = _origin(blocked)
    if base in _FIELDS and origin is not None:
        return f'Declare the origin: csp=Csp({_FIELDS[base]}=["{origin}"]).'
    return _BY_DIRECTIVE.get(base, _DEFAULT)


def _origin(url: str) -> str | None:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}" if parts.scheme in ("http", "https", "ws", "wss") else None
