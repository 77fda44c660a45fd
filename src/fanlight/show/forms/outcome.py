"""What the function of a form returned: what the View shows of it, and what the model reads."""

import inspect
import typing
from collections.abc import Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Final
from uuid import UUID

from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel

from fanlight.protocol.errors import ArgumentError
from fanlight.show.annotation import union_arms
from fanlight.show.item import Builder, Keeping
from fanlight.show.tables.cell import cut, to_text
from fanlight.show.tables.frame import is_frame
from fanlight.show.tables.rows import fields_of, is_row

_SIMPLE: Final = (str, bytes, int, float, bool, Mapping, BaseModel, CallToolResult, Enum, date, time, timedelta)
_VALUES: Final = (str, int, float, bool, date, time, timedelta, Decimal, Enum, UUID)
_MOST_FIELDS: Final = 100
_MOST_CHARACTERS: Final = 2_000
_RESULT_BYTES: Final = 64_000


def is_simple(annotation: Any) -> bool:
    """Return whether the small View can show all that an annotation allows: text, or the fields of one object."""
    if annotation is inspect.Signature.empty:
        return False
    for arm in union_arms(annotation):
        if arm in (None, type(None)):
            continue
        origin = typing.get_origin(arm) or arm
        if origin is typing.Literal:
            continue
        if not isinstance(origin, type) or not (
            issubclass(origin, (*_SIMPLE, Decimal, UUID)) or hasattr(origin, "__dataclass_fields__")
        ):
            return False
    return True


def outcome(value: Any, tool: str, keep: Keeping | None) -> tuple[dict[str, Any] | None, str]:
    """Return the item of a value, or None if there is nothing to show, and its text. It may take long.

    `keep` keeps tables and figures for the View; without it, the View shows text only.
    """
    if value is None:
        return None, ""
    if isinstance(value, CallToolResult):
        text = "\n\n".join(block.text for block in value.content if isinstance(block, TextContent))
        return _text(text)
    if isinstance(value, _VALUES):
        return _text(to_text(value.value if isinstance(value, Enum) else value))
    if is_row(value) and not is_frame(value):  # which has keys, too
        rows = [
            (str(name), cut(to_text(each), _MOST_CHARACTERS))
            for name, each in list(fields_of(value).items())[:_MOST_FIELDS]
        ]
        return {"kind": "record", "rows": rows}, "\n".join(f"{name}: {each}" for name, each in rows)
    builder = Builder(keep or (lambda _: None), 50, 10, 4_000, shown=True, budget=_RESULT_BYTES)
    try:
        item, text = builder.build(value, tool)
    except ArgumentError:
        return _text(to_text(value))
    return (item, text) if keep is not None else _text(text)


def _text(text: str) -> tuple[dict[str, Any], str]:
    return {"kind": "text", "data": text}, text
