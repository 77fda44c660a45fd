"""Functions of tools that call the function of an author, under its name and with another signature."""

import inspect
from collections.abc import Callable
from typing import Any

from mcp_types import CallToolResult


def is_async(function: Callable[..., Any]) -> bool:
    """Return whether a function, or an object that can be called, has to be awaited."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004  the method itself is inspected, not whether it exists
    )


def as_tool(wrapper: Any, function: Callable[..., Any], signature: inspect.Signature) -> Callable[..., Any]:
    """Give a wrapper, which returns complete results, the name of a function and a signature, and return it."""
    wrapper.__name__ = getattr(function, "__name__", type(function).__name__)
    wrapper.__qualname__ = getattr(function, "__qualname__", wrapper.__name__)
    wrapper.__doc__ = inspect.getdoc(function)
    wrapper.__module__ = function.__module__
    wrapper.__signature__ = signature
    wrapper.__annotations__ = {
        **{
            parameter.name: parameter.annotation
            for parameter in signature.parameters.values()
            if parameter.annotation is not parameter.empty
        },
        "return": CallToolResult,
    }
    made: Callable[..., Any] = wrapper
    return made
