"""`fanlight check`: the standard as rules for servers and Views, to be run from Python.

    report = await check("server.py")
    assert report.conforms, report

Each name is imported on first use.
"""

from typing import TYPE_CHECKING

from fanlight.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from fanlight.check.report import Report as Report
    from fanlight.check.rule import Finding as Finding
    from fanlight.check.rule import Problem as Problem
    from fanlight.check.rule import Rule as Rule
    from fanlight.check.rules import RULES as RULES
    from fanlight.check.run import UsageError as UsageError
    from fanlight.check.run import check as check
    from fanlight.check.visit import ConnectError as ConnectError

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "report": ["Report"],
        "rule": ["Finding", "Problem", "Rule"],
        "rules": ["RULES"],
        "run": ["UsageError", "check"],
        "visit": ["ConnectError"],
    },
)
