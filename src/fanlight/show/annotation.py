"""What a function says that it returns: whether that can be shown, and the signature of the tool that it becomes."""

import collections.abc
import dataclasses
import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Final

from mcp_types import CallToolResult
from pydantic import BaseModel

from fanlight.protocol.errors import RegistrationError
from fanlight.show.figures.figure import is_figure_type
from fanlight.show.tables.frame import NEEDS_NARWHALS, is_frame_type, narwhals_is_missing

_SEQUENCES: Final = (
    list,
    tuple,
    set,
    frozenset,
    collections.abc.Sequence,
    collections.abc.Iterable,
    collections.abc.Iterator,
    collections.abc.Generator,
    collections.abc.Collection,
)
_SCALARS: Final = (str, bytes, int, float, complex, bool)
_UNIONS: Final = (typing.Union, types.UnionType)
# The last part of an annotation that cannot be evaluated, such as one imported under TYPE_CHECKING.
_FRAME_NAME: Final = re.compile(r"\b(?:DataFrame|LazyFrame|Series|Table|RecordBatch|DuckDBPyRelation)\b")


def tool_signature(function: Callable[..., Any], *, any_result: bool = False) -> tuple[inspect.Signature, bool]:
    """Return the signature of a function as a tool that returns a complete result, and whether it shows only tables.

    The annotations of the signature are evaluated.

    Raise RegistrationError for a parameter whose annotation cannot be evaluated, and, unless `any_result` is set, for a
    return annotation of something that cannot be shown.
    """
    name = getattr(function, "__name__", type(function).__name__)
    returned = inspect.signature(function).return_annotation
    only_tables = _shows_only_tables(name, returned, _names(function), any_result)
    return evaluated_signature(function), only_tables


def evaluated_signature(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a function as a tool that returns a complete result, with evaluated annotations.

    Raise RegistrationError for a parameter whose annotation cannot be evaluated.
    """
    name = getattr(function, "__name__", type(function).__name__)
    signature = inspect.signature(function)
    names = _names(function)
    parameters = []
    for parameter in signature.parameters.values():
        try:
            annotation = _evaluated(parameter.annotation, names)
        except Exception as error:  # whatever evaluating an annotation raises
            raise RegistrationError(
                f"The annotation {parameter.annotation!r} of the parameter {parameter.name} of {name}() cannot be "
                f"evaluated ({type(error).__name__}: {error}). Import what it names when the program runs, too."
            ) from None
        parameters.append(parameter.replace(annotation=annotation))
    return signature.replace(parameters=parameters, return_annotation=CallToolResult)


def _shows_only_tables(name: str, annotation: Any, names: Mapping[str, Any], any_result: bool) -> bool:
    """Return whether everything that an annotation allows is a table. Raise if nothing that it allows can be shown."""
    try:
        evaluated = _evaluated(annotation, names)
    except Exception:  # it names something that only type checkers import
        if _FRAME_NAME.search(str(annotation)) and narwhals_is_missing():
            raise RegistrationError(f"{name}() returns {annotation}, and {NEEDS_NARWHALS}") from None
        return False
    if evaluated is inspect.Signature.empty or evaluated is Any:
        return False
    arms = [arm for arm in union_arms(evaluated) if arm not in (None, type(None))]
    if not any_result and not any(_can_be_shown(arm) for arm in arms):
        raise RegistrationError(
            f"{name}() returns {inspect.formatannotation(evaluated)}, which cannot be shown. apps.show shows frames "
            "of pandas, polars, pyarrow and DuckDB, lists of dicts, dataclasses or pydantic models, and figures. "
            "For anything else, write @apps.tool(view=...)."
        )
    if narwhals_is_missing() and arms and all(isinstance(arm, type) and is_frame_type(arm) for arm in arms):
        raise RegistrationError(f"{name}() returns {inspect.formatannotation(evaluated)}, and {NEEDS_NARWHALS}")
    return bool(arms) and all(_is_table(arm) for arm in arms)


def _is_table(annotation: Any) -> bool:
    origin = typing.get_origin(annotation) or annotation
    if not isinstance(origin, type):
        return False
    if is_frame_type(origin):
        return True
    # The items of a bare list, or of one of anything, may be figures.
    items = [item for item in typing.get_args(annotation) if item not in (..., type(None))]
    return origin in _SEQUENCES and bool(items) and all(_is_row(item) for item in items)


def _is_row(annotation: Any) -> bool:
    return all(
        isinstance(origin := typing.get_origin(arm) or arm, type)
        and (issubclass(origin, (*_SCALARS, Mapping, BaseModel)) or dataclasses.is_dataclass(origin))
        for arm in union_arms(annotation)
        if arm not in (None, type(None))
    )


def _can_be_shown(annotation: Any) -> bool:
    """Return whether a value of a type may be shown. Only what certainly cannot be is not."""
    origin = typing.get_origin(annotation) or annotation
    if not isinstance(origin, type):
        return True
    if origin in _SEQUENCES or is_frame_type(origin) or issubclass(origin, CallToolResult):
        return True
    return is_figure_type(origin) or not issubclass(origin, (*_SCALARS, Mapping, BaseModel))


def union_arms(annotation: Any) -> list[Any]:
    """Return the types that an annotation allows, without Annotated and aliases."""
    value = getattr(annotation, "__value__", annotation)
    origin = typing.get_origin(value)
    if origin is typing.Annotated:
        return union_arms(typing.get_args(value)[0])
    if origin in _UNIONS:
        return [found for arm in typing.get_args(value) for found in union_arms(arm)]
    return [value]


def _evaluated(annotation: Any, names: Mapping[str, Any]) -> Any:
    if isinstance(annotation, str):
        return eval(annotation, dict(names))  # noqa: S307  as typing.get_type_hints does: it is the author's own code
    return annotation


def return_annotation(function: Callable[..., Any]) -> Any:
    """Return what a function says that it returns, evaluated; `Signature.empty` if that is not known."""
    annotation = inspect.signature(function).return_annotation
    try:
        return _evaluated(annotation, _names(function))
    except Exception:  # it names something that only type checkers import
        return inspect.Signature.empty


def _names(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the names that the annotations of a function may use."""
    return {**getattr(inspect.unwrap(function), "__globals__", {}), **_closure(function)}


def _closure(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the names of the enclosing function that a function uses. Only these can be found."""
    try:
        return dict(inspect.getclosurevars(function).nonlocals)
    except (TypeError, ValueError):
        return {}
