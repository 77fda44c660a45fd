"""The standard as a program: hold a server and its Views against the rules of MCP Apps.

report = await check("server.py")
assert report.conforms, report
"""

from fanlight.check.report import Report
from fanlight.check.rule import Finding, Problem, Rule
from fanlight.check.rules import RULES
from fanlight.check.run import UsageError, check
from fanlight.check.visit import CannotConnect

__all__ = ["RULES", "CannotConnect", "Finding", "Problem", "Report", "Rule", "UsageError", "check"]
