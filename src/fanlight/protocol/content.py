"""Content blocks: those that hold a View or link to one, and text."""

from collections.abc import Iterable, Mapping
from typing import Any

from fanlight.protocol.extension import is_view_uri
from fanlight.protocol.jsonrpc import JSONObject


def embedded_views(result: Mapping[str, Any]) -> list[JSONObject]:
    """Return the UI resources that a tool result embeds, as servers of mcp-ui do."""
    content = result.get("content")
    return [block["resource"] for block in content if embeds_view(block)] if isinstance(content, list) else []


def embeds_view(block: object) -> bool:
    """Return whether a content block is a UI resource."""
    if not isinstance(block, Mapping) or block.get("type") != "resource":
        return False
    resource = block.get("resource")
    return isinstance(resource, Mapping) and is_view_uri(resource.get("uri"))


def links_view(block: object) -> bool:
    """Return whether a content block is a link to a UI resource."""
    return isinstance(block, Mapping) and block.get("type") == "resource_link" and is_view_uri(block.get("uri"))


def joined_text(blocks: Iterable[JSONObject]) -> str:
    """Return the text blocks among content blocks, one below the other."""
    return "\n".join(block["text"] for block in blocks if block.get("type") == "text")
