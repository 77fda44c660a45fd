"""The link of a tool to its View, in the standard's key or in one of another dialect."""

from collections.abc import Mapping
from typing import Any

from fanlight.protocol.dialects import Row, meta_of, older_link, translate_meta
from fanlight.protocol.extension import is_view_uri
from fanlight.protocol.metadata import UI_KEY


def view_uri(tool: Mapping[str, Any], *, dialects: bool = True) -> str | None:
    """Return the URI of a tool's View, or None if there is no valid one (DSC-07: the nested key wins)."""
    uri = (translate_meta(meta_of(tool))[0] if dialects else standard_ui(tool)).get("resourceUri")
    return uri if is_view_uri(uri) else None


def link_row(tool: Mapping[str, Any]) -> Row | None:
    """Return the row of the dialects table for the key that links a tool to its View, or None for today's key."""
    return older_link(meta_of(tool))


def link_problem(tool: Mapping[str, Any]) -> str | None:
    """Return what is wrong with a tool's link to its View, or None."""
    uri = translate_meta(meta_of(tool))[0].get("resourceUri")
    if uri is None or view_uri(tool) is not None:
        return None
    return f'The tool {tool.get("name")!r} names the View {uri!r}, not a ui:// URI. Write "ui://clock/view".'


def standard_ui(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the `ui` metadata of a tool or a resource, without that of other dialects."""
    ui = meta_of(item).get(UI_KEY)
    return ui if isinstance(ui, Mapping) else {}
