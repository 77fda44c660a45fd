"""The standard as a program: rules for servers, Views and hosts.

    report = await check("server.py")
    assert report.conforms, report

What is named here is loaded when it is used: the probe lives beside it and needs little of it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from fanlight.check.report import Report
    from fanlight.check.rule import Finding, Problem, Rule
    from fanlight.check.rules import RULES
    from fanlight.check.run import UsageError, check
    from fanlight.check.visit import CannotConnect

__all__ = ["RULES", "CannotConnect", "Finding", "Problem", "Report", "Rule", "UsageError", "check"]

_PLACES: Final = {
    **{"Report": "report", "RULES": "rules", "CannotConnect": "visit", "UsageError": "run", "check": "run"},
    **dict.fromkeys(("Finding", "Problem", "Rule"), "rule"),
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
