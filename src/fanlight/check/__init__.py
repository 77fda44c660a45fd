"""`fanlight check`: check servers and Views against the rules of MCP Apps, to be run from Python.

    report = await check("server.py")
    assert report.conforms, report

Each name is imported on first use.
"""

from typing import TYPE_CHECKING

from fanlight.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from fanlight.check.client import ConnectError as ConnectError
    from fanlight.check.finding import Finding as Finding
    from fanlight.check.report import Report as Report
    from fanlight.check.run import UsageError as UsageError
    from fanlight.check.run import check as check
    from fanlight.rules.rule import Problem as Problem
    from fanlight.rules.rule import Rule as Rule
    from fanlight.rules.table import RULES as RULES

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "finding": ["Finding", "Problem", "Rule"],
        "report": ["RULES", "Report"],
        "run": ["UsageError", "check"],
        "client": ["ConnectError"],
    },
)
