"""What mcp-ui adds to a View's document: web pages as Views, initial render data and a preferred size."""

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from fanlight.host.errors import ViewError
from fanlight.protocol.csp import check_source
from fanlight.protocol.errors import RegistrationError
from fanlight.protocol.jsonrpc import JSONObject

_PREFIX: Final = "mcpui.dev/ui-"
_MAX_HEIGHT: Final = 20_000
# Printable characters without spaces, quotes and brackets: an address has those percent-encoded.
_WEB_PAGE: Final = re.compile(r"https?://[!#-;=?-_a-z~]+", re.IGNORECASE)


def page_address(uri: str, text: str, *, is_list: bool) -> str | None:
    """Return the address of the web page that a document consists of, or None if it is a document of its own.

    A document of type `text/uri-list` (`is_list`) has an address in each line, and comments that begin with #. Some
    servers send a single address as if it were HTML.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if not is_list:
        return lines[0] if len(lines) == 1 and _WEB_PAGE.fullmatch(lines[0]) else None
    for line in lines:
        if _WEB_PAGE.fullmatch(line):
            return line
    raise ViewError(f"The View {uri} is a list of addresses without a web page. Write one that begins with https://.")


def page_origin(uri: str, address: str) -> str:
    """Return the origin of a web page, valid as a CSP source, or raise ViewError."""
    parts = urlsplit(address)
    try:
        return check_source(f"{parts.scheme}://{parts.netloc}".lower(), "its origin")
    except (RegistrationError, ValueError) as error:
        raise ViewError(f"The View {uri} is a page that cannot be framed: {error}") from None


def render_data(meta: Mapping[str, Any]) -> JSONObject:
    """Return the data that a View gets when it starts."""
    data = meta.get(f"{_PREFIX}initial-render-data")
    return data if isinstance(data, dict) else {}


def preferred_height(meta: Mapping[str, Any]) -> float | None:
    """Return the height of a preferred size such as ["800px", "600px"] in pixels, or None."""
    size = meta.get(f"{_PREFIX}preferred-frame-size")
    height = size[1] if isinstance(size, list) and len(size) == 2 else None
    if isinstance(height, str) and height.removesuffix("px").isdecimal():
        height = int(height.removesuffix("px")[:6])
    valid = isinstance(height, int | float) and not isinstance(height, bool) and 0 < height < _MAX_HEIGHT
    return height if valid else None
