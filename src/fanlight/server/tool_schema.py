"""Why a function cannot become a tool: the annotation that has no JSON schema."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from pydantic import TypeAdapter

from fanlight.protocol.errors import RegistrationError

_JSON_TYPES = "a dataclass, a pydantic model, a TypedDict, a dict or a list"


def schema_error(function: Callable[..., Any], cause: Exception) -> RegistrationError | None:
    """Return the error that names the annotation without a JSON schema, or None if every annotation has one.

    Servers create schemas when a tool is registered, and fail with whatever their libraries raise.
    """
    name = getattr(function, "__name__", type(function).__name__)
    reason = f"{type(cause).__name__}: {str(cause).splitlines()[0] if str(cause) else 'no message'}"
    for parameter, annotation in _annotations(function):
        if _has_schema(annotation):
            continue
        described = inspect.formatannotation(annotation)
        if parameter is None:
            return RegistrationError(
                f"{name}() returns {described}, which has no JSON schema ({reason}). "
                f"Return data that JSON can represent: {_JSON_TYPES} of such values.{_conversion(annotation)}"
            )
        return RegistrationError(
            f"The parameter {parameter} of {name}() is {described}, which has no JSON schema ({reason}). "
            f"Models send JSON: take {_JSON_TYPES} of such values, and convert it in the function."
        )
    return None


def _annotations(function: Callable[..., Any]) -> Iterator[tuple[str | None, Any]]:
    """Yield the annotations of parameters that a model fills in, then that of the result, which has no name."""
    try:
        signature = inspect.signature(function, eval_str=True)
    except (NameError, TypeError, ValueError):
        return
    for parameter in signature.parameters.values():
        # Servers fill in a parameter for the context of a request themselves.
        if parameter.annotation is not parameter.empty and getattr(parameter.annotation, "__name__", "") != "Context":
            yield parameter.name, parameter.annotation
    if signature.return_annotation is not signature.empty:
        yield None, signature.return_annotation


def _has_schema(annotation: Any) -> bool:
    try:
        TypeAdapter(annotation).json_schema()
    except Exception:  # whatever the annotated class raises
        return False
    return True


def _conversion(annotation: Any) -> str:
    if getattr(annotation, "__name__", "") != "DataFrame":
        return ""
    return ' For the rows of a frame, write -> list[dict[str, Any]] and return frame.to_dict("records").'
