"""The text of a script element, escaped so that it does not end the element."""

import re

from fanlight.server.bundle.javascript import JavaScriptError, Kind, Spans
from fanlight.server.bundle.source import Source, replace

_UNSAFE = re.compile(r"<(?:/(?i:script)|!--)")


def script_text(source: Source, *, module: bool) -> str:
    """Return an equivalent script without `</script` and `<!--`, which would end or change its element."""
    text = source.text
    found = list(_UNSAFE.finditer(text))
    if not found:
        return text
    try:
        spans = Spans(text, found[-1].end())
    except JavaScriptError:
        return _UNSAFE.sub(lambda match: "\\x3C" + match[0][1:], text)
    edits: list[tuple[int, int, str]] = []
    for match in found:
        kind = spans.kind_at(match.start())
        if kind == "tagged template":
            raise source.error(
                match.start(),
                f'"{match[0]}" in a tagged template ends the script element, and an escape would change '
                'the text that the tag function gets. Write "<" as ${"<"}.',
            )
        edits.append((match.start(), match.end(), _safe(match[0], kind, module)))
    return replace(text, edits)


def _safe(unsafe: str, kind: Kind | None, module: bool) -> str:
    if kind is not None:
        return "\\x3C" + unsafe[1:]
    if unsafe == "<!--" and not module:
        return "//--"  # begins a comment in classic scripts
    return "< " + unsafe[1:]  # "<" is an operator, before a regular expression or `!--x`
