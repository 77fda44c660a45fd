"""The reports that browsers send when a View's Content-Security-Policy blocks something."""

from typing import Final

from fanlight.host.json_text import decode_object
from fanlight.protocol.jsonrpc import JSONObject

MAX_BYTES: Final = 64_000
_MAX_TEXT: Final = 500
# Schema libraries create an empty function once to find out whether they may compile code, and work without if they
# may not. The reference SDK includes such a library, so every View that uses it does this when it starts.
_EMPTY_FUNCTION: Final = "(function anonymous(\n) {\n\n})"


def read_report(body: bytes) -> JSONObject | None:
    """Return the relevant fields of a report, shortened, or None if the body is not a report."""
    fields = decode_object(body.decode("utf-8", "replace"))
    report = None if fields is None else fields.get("csp-report")
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
    """Return True if the violation is a library's harmless test whether it may compile code."""
    return (report["blocked"], report["sample"]) == ("eval", _EMPTY_FUNCTION)


def _text(value: object) -> str:
    return value[:_MAX_TEXT] if isinstance(value, str) else ""
