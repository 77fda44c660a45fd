"""The names of the MCP Apps extension, and whether a client negotiated it."""

from collections.abc import Mapping
from typing import Any, Final

EXTENSION_ID: Final = "io.modelcontextprotocol/ui"
OLDER_EXTENSION_ID: Final = "modelcontextprotocol.io/ui"  # in the first draft
MIME_TYPE: Final = "text/html;profile=mcp-app"
URI_SCHEME: Final = "ui://"

SERVER_SETTINGS: Final = {"mimeTypes": [MIME_TYPE]}
"""What a server advertises under `capabilities.extensions[EXTENSION_ID]`."""
OLDER_SETTINGS: Final = {"mimeTypes": [MIME_TYPE, "text/html+mcp", "text/html"]}
"""What a host advertises under the older name, with the MIME types that older servers expect."""


def is_view_uri(value: object) -> bool:
    """Return whether a value is a URI of the scheme of Views, with something after the scheme (RES-01)."""
    return isinstance(value, str) and value.startswith(URI_SCHEME) and value != URI_SCHEME


def negotiated(capabilities: Mapping[str, Any] | None) -> bool:
    """Return whether client capabilities have the extension with our MIME type (NEG-01, NEG-02).

    Older hosts send it under `experimental`.
    """
    if not capabilities:
        return False
    return has_our_type(capabilities.get("extensions")) or has_our_type(capabilities.get("experimental"))


def has_our_type(extensions: object) -> bool:
    """Return whether a map of extensions has ours with our MIME type. Called for every request, so it must be fast."""
    if not isinstance(extensions, dict):
        return False
    settings = extensions.get(EXTENSION_ID) or extensions.get(OLDER_EXTENSION_ID)
    types = settings.get("mimeTypes") if isinstance(settings, dict) else None
    if not isinstance(types, (list, tuple)):
        return False
    return MIME_TYPE in types or any(_is_our_type(value) for value in types)


def _is_our_type(value: object) -> bool:
    # Compared as a MIME type: case, spaces and quotes do not matter.
    return isinstance(value, str) and "".join(value.split()).replace('"', "").lower() == MIME_TYPE
