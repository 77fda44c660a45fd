"""What browsers report of Views that tried what their policy forbids."""

from typing import Final

from fanlight.host.views.channel import decode
from fanlight.protocol.jsonrpc import JSONObject

MOST_BYTES: Final = 64_000
_MOST_TEXT: Final = 500
# Schema libraries try once whether they may compile code, with an empty function, and take no for an answer. The
# reference SDK brings one, so every View made with it does this at its start.
_EMPTY_FUNCTION: Final = "(function anonymous(\n) {\n\n})"


def read_report(body: bytes) -> JSONObject | None:
    """Return what a report says, in short; None if it is no report."""
    frame = decode(body.decode("utf-8", "replace"))
    report = None if frame is None else frame.get("csp-report")
    if not isinstance(report, dict):
        return None
    return {
        "directive": _text(report.get("effective-directive") or report.get("violated-directive")),
        "blocked": _text(report.get("blocked-uri")),
        "document": _text(report.get("document-uri")),
        "sample": _text(report.get("script-sample")),
        "line": report.get("line-number") if isinstance(report.get("line-number"), int) else None,
    }


def is_probe(report: JSONObject) -> bool:
    """Tell whether a violation is the harmless question whether code may be compiled."""
    return (report["blocked"], report["sample"]) == ("eval", _EMPTY_FUNCTION)


def _text(value: object) -> str:
    return value[:_MOST_TEXT] if isinstance(value, str) else ""
