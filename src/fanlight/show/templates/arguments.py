"""The arguments of an action: text as fields of a page send it, turned into the types of the function's parameters."""

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import PydanticUserError, TypeAdapter, ValidationError, WrapValidator

_LISTS: Final = (list, tuple, set, frozenset)
_UNIONS: Final = (typing.Union, types.UnionType)


@dataclass(frozen=True)
class _Parameter:
    adapter: TypeAdapter[Any]
    is_list: bool
    default: Any  # inspect.Parameter.empty if it is required


class Arguments:
    """The parameters of a function that the fields of a page fill in.

    `signature` is that of the tool: it publishes the types and lets every value through, so that the errors of all
    fields can be shown beside them.
    """

    def __init__(self, signature: inspect.Signature) -> None:
        self._parameters: dict[str, _Parameter] = {}
        parameters = [self._lenient(each) for each in signature.parameters.values()]
        self.signature = signature.replace(parameters=sorted(parameters, key=lambda each: each.kind))

    def _lenient(self, parameter: inspect.Parameter) -> inspect.Parameter:
        annotation = parameter.annotation
        if _is_injected(parameter):
            return parameter
        annotation = Any if annotation is parameter.empty else annotation
        try:
            adapter = TypeAdapter(annotation)
        except PydanticUserError:
            return parameter  # the server has a better error for a type without a schema
        arms = _arms(annotation)
        is_list = any((typing.get_origin(arm) or arm) in _LISTS for arm in arms)
        default = parameter.default
        if default is parameter.empty:
            # Forms do not send what is not checked or not selected.
            default = False if arms == [bool] else [] if is_list else default
        self._parameters[parameter.name] = _Parameter(adapter, is_list, default)
        # By keyword, because parameters that have a default now may come before others.
        lenient = Annotated[annotation, WrapValidator(_let_through)]  # type: ignore[valid-type]
        return parameter.replace(annotation=lenient, default=default, kind=parameter.KEYWORD_ONLY)

    def parse(self, values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the arguments for the function, and what is wrong with them: messages by the name of the field."""
        parsed = dict(values)
        messages: dict[str, str] = {}
        for name, parameter in self._parameters.items():
            if name not in values or values[name] is parameter.default:
                continue
            value = values[name]
            if parameter.is_list and isinstance(value, str):
                value = [value] if value else []
            try:
                parsed[name] = parameter.adapter.validate_python(value)
            except ValidationError as error:
                if value != "":
                    messages[name] = _message(error)
                elif parameter.default is not inspect.Parameter.empty:
                    parsed[name] = parameter.default
                else:
                    parsed[name], missing = _nothing(parameter.adapter)
                    messages |= {name: "This field is required."} if missing else {}
        return parsed, messages


def _nothing(adapter: TypeAdapter[Any]) -> tuple[Any, bool]:
    """Return what an empty field stands for, and whether the type does not allow it."""
    try:
        return adapter.validate_python(None), False
    except ValidationError:
        return None, True


def _let_through(value: Any, validate: Callable[[Any], Any]) -> Any:
    return value


def _message(error: ValidationError) -> str:
    texts = []
    for found in error.errors(include_url=False, include_context=False, include_input=False):
        text = found["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
        place = ".".join(str(part) for part in found["loc"])
        texts.append(f"{place}: {text}" if place and found["loc"] != ("function-wrap[]",) else text)
    return "; ".join(dict.fromkeys(texts))


def _is_injected(parameter: inspect.Parameter) -> bool:
    """Return whether the server fills in a parameter: the context of a request, or a dependency."""
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        return True
    if hasattr(parameter.default, "__aenter__"):  # how FastMCP declares dependencies
        return True
    if any(type(mark).__name__ == "Resolve" for mark in getattr(parameter.annotation, "__metadata__", ())):
        return True  # how the SDK does
    return any(
        getattr(typing.get_origin(arm) or arm, "__name__", "") == "Context" for arm in _arms(parameter.annotation)
    )


def _arms(annotation: Any) -> list[Any]:
    """Return the types that an annotation allows, except None."""
    value = getattr(annotation, "__value__", annotation)
    origin = typing.get_origin(value)
    if origin is Annotated:
        return _arms(typing.get_args(value)[0])
    if origin in _UNIONS:
        return [found for arm in typing.get_args(value) for found in _arms(arm) if found is not type(None)]
    return [value]
