"""The files that a page saves for a View, under names that are safe on any system (D-DL-02, D-DL-04)."""

import re
import unicodedata
from typing import Final
from urllib.parse import unquote, urlsplit

from fanlight.host.errors import RequestError
from fanlight.protocol.jsonrpc import JSONObject

_UNSAFE_NAME: Final = re.compile(r'[\x00-\x1f\x7f-\x9f<>:"/\\|?*]+')
_INVISIBLE: Final = frozenset({"Cf", "Cs", "Zl", "Zp"})
_RESERVED_NAME: Final = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])\s*(?:\..*)?", re.IGNORECASE | re.DOTALL
)


def saved_file(block: JSONObject) -> JSONObject:
    """Return the file that a page saves for one block of `ui/download-file`."""
    resource = block.get("resource")
    if block.get("type") != "resource" or not isinstance(resource, dict):
        raise RequestError("Only embedded resources can be saved.")
    body = {key: resource[key] for key in ("text", "blob") if isinstance(resource.get(key), str)}
    if len(body) != 1:
        raise RequestError("An embedded resource has either text or a blob.")
    return {"name": safe_name(str(resource.get("uri", ""))), "mimeType": str(resource.get("mimeType", "")), **body}


def safe_name(uri: str) -> str:
    """Return a file name made of the last part of a URI, safe on any system."""
    try:
        path = unquote(urlsplit(uri).path)
    except ValueError:
        return "download"
    last = path.replace("\\", "/").rstrip("/").rpartition("/")[2]
    # Invisible characters could make two names look alike, or hide a name's extension.
    visible = "".join("_" if unicodedata.category(char) in _INVISIBLE else char for char in last)
    name = _UNSAFE_NAME.sub("_", visible).strip(". ~")[:150].rstrip(". ")
    return "download" if not name or _RESERVED_NAME.fullmatch(name) else name


def saved_files(read: JSONObject) -> list[JSONObject]:
    """Return the files that a page saves for the result of a `resources/read`."""
    contents = read.get("contents")
    items = contents if isinstance(contents, list) else []
    return [saved_file({"type": "resource", "resource": item}) for item in items]
