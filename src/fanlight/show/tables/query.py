"""What a View asks of a table: how its rows are sorted, filtered and searched."""

from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field

from fanlight.protocol.errors import ArgumentError
from fanlight.show.tables.cell import NUMERIC, UNORDERED, Kind

Operator = Literal["contains", "equals", "at_least", "at_most", "null", "not_null"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    column: Annotated[int, Field(ge=0, description="The position of the column, from 0.")]


class Sort(_Part):
    """Sort by a column."""

    descending: bool = False


class Filter(_Part):
    """Keep the rows whose value in a column fits."""

    op: Operator
    value: Annotated[str, Field(max_length=500)] = ""


class Query(BaseModel):
    """One arrangement of the rows of a table. Equal queries have equal results, so it is also the key of a cache."""

    model_config = ConfigDict(frozen=True)

    sort: tuple[Sort, ...] = ()
    filters: tuple[Filter, ...] = ()
    search: str = ""

    def check(self, kinds: "list[Kind]", names: list[str]) -> None:
        """Raise ArgumentError for a column that does not exist or cannot be sorted or filtered."""
        for part in (*self.sort, *self.filters):
            if part.column >= len(kinds):
                raise ArgumentError(f"There is no column {part.column}; the last one is {len(kinds) - 1}.")
            kind = kinds[part.column]
            if kind in UNORDERED and not (isinstance(part, Filter) and part.op in ("null", "not_null")):
                raise ArgumentError(f"{names[part.column]} has {kind} values, which cannot be sorted or filtered.")


def bound(kind: Kind, zone: str | None, text: str) -> Any:
    """Return the text of a filter as a value that can be compared with those of a column, or raise ArgumentError."""
    text = text.strip()
    try:
        if kind in NUMERIC:
            return _number(kind, text)
        if kind == "date":
            return date.fromisoformat(text)
        if kind == "datetime":
            moment = datetime.fromisoformat(text)
            if zone is None:
                return moment.replace(tzinfo=None)
            return moment.astimezone(ZoneInfo(zone)) if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(zone))
        if kind == "boolean":
            return {"true": True, "false": False}[text.lower()]
    except (ValueError, InvalidOperation, KeyError):
        expected = {"date": "a date such as 2026-01-31", "datetime": "a time such as 2026-01-31T12:00"}
        raise ArgumentError(
            f"{text!r} is not {expected.get(kind, 'true or false' if kind == 'boolean' else 'a number')}."
        ) from None
    return text


def is_day(text: str) -> bool:
    """Return whether a filter names a whole day, not a moment."""
    return len(text.strip()) == len("2026-01-31")


def next_day(moment: datetime) -> datetime:
    """Return the same moment of the next day."""
    return moment + timedelta(days=1)


def _number(kind: Kind, text: str) -> int | float | Decimal:
    if kind == "decimal":
        value = Decimal(text)
        if not value.is_finite():
            raise InvalidOperation
        return value
    try:
        return int(text)
    except ValueError:
        value_ = float(text)
        if value_ != value_:
            raise
        return value_
