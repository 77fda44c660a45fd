"""Who may see and call a tool: the model, Views of its server, or both."""

from collections.abc import Mapping
from typing import Any, Final

from fanlight.protocol.dialects import chatgpt_visibility, meta_of
from fanlight.protocol.metadata import UI_KEY, Visibility

_EVERYONE: Final[frozenset[Visibility]] = frozenset({"model", "app"})


def visibility(tool: Mapping[str, Any]) -> frozenset[Visibility]:
    """Return which callers may use a tool. Absent or null means both (VIS-01), an empty list none (VIS-05).

    The standard allows a list of "model" and "app". Anything else grants nothing, so that a mistake hides a tool and
    never exposes it (VIS-02, VIS-03). ChatGPT's keys count as well, because they can only restrict access.
    """
    meta = meta_of(tool)
    ui = meta.get(UI_KEY)
    declared = ui.get("visibility") if isinstance(ui, Mapping) else chatgpt_visibility(meta)
    if declared is None:
        return _EVERYONE
    if not isinstance(declared, list | tuple):
        return frozenset()
    return frozenset(user for user in _EVERYONE if user in declared)


def for_model(tool: Mapping[str, Any]) -> bool:
    """Return whether the model may see and call a tool (VIS-02)."""
    return "model" in visibility(tool)


def for_app(tool: Mapping[str, Any]) -> bool:
    """Return whether Views of the same server may call a tool (VIS-03)."""
    return "app" in visibility(tool)
