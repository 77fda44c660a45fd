"""Reads a folder of saved Views, to check them without a server."""

import json
from pathlib import Path
from typing import Final

from fanlight.protocol.errors import UsageError
from fanlight.protocol.extension import EXTENSION_ID, MIME_TYPE, URI_SCHEME
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.rules.observation import Document, Look, Response, ServerObservation, ToolCall, ViewObservation, ui_of

SAVED: Final = "saved"
"""Stands for the protocol version, because saved Views come from no server."""


def read_saved_views(name: str, folder: Path) -> ServerObservation:
    """Read each .html file of a folder, with the metadata in a .json file of the same name.

    The .json file is a content item (`uri`, `mimeType`, `_meta`) without its text, and may have `tool`, `arguments`
    and `result`.
    """
    reads: dict[str, Response] = {}
    tools: list[JSONObject] = []
    calls: dict[str, ToolCall] = {}
    views = []
    for path in sorted(folder.rglob("*.html")):
        metadata = _metadata(path.with_suffix(".json"))
        file = path.relative_to(folder).as_posix()
        uri = str(metadata.get("uri") or f"{URI_SCHEME}{name}/{file.removesuffix('.html')}")
        html = path.read_text(encoding="utf-8", errors="replace")
        item = {"uri": uri, "mimeType": metadata.get("mimeType", MIME_TYPE), "text": html}
        if "_meta" in metadata:
            item["_meta"] = metadata["_meta"]
        reads[uri] = Response({"contents": [item]})
        own_tools = [metadata["tool"]] if isinstance(metadata.get("tool"), dict) else []
        tools += own_tools
        if own_tools and isinstance(metadata.get("result"), dict):
            response = Response(metadata["result"])
            calls[str(own_tools[0].get("name"))] = ToolCall(metadata.get("arguments") or {}, response)
        views.append(ViewObservation(Document(uri, html, dict(ui_of(item)), own_tools, file)))
    look = Look(SAVED, True, {"extensions": {EXTENSION_ID: {}}}, tools, reads=reads, calls=calls)
    return ServerObservation(name, [look], views, saved=True)


def _metadata(path: Path) -> JSONObject:
    if not path.is_file():
        return {}
    try:
        metadata = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UsageError(f"{path} is not JSON: {error}.") from None
    if not isinstance(metadata, dict):
        raise UsageError(f'{path} is not an object. Write {{"uri": "ui://...", "_meta": {{"ui": {{}}}}}}.')
    return metadata
