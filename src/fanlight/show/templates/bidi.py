"""Values of templates that would change the direction of the text around them are isolated from it.

A name with U+202E (right-to-left override) reverses all that follows it in its paragraph, such as a price. Values are
marked while a template is rendered. Then the place of each is known: in text it is isolated, with U+2068 and U+2069;
in attributes and fields, whose text becomes data again, it stays as it is.
"""

import re
from typing import Final

_START: Final = "\ufdd0"
_END: Final = "\ufdd1"
"""Characters that no HTML document may contain mark a value."""

_CONTROLS: Final = re.compile("[\u202a-\u202e\u2066-\u2069]")
_MARKS: Final = re.compile(f"[{_START}{_END}]")
_MARKED: Final = re.compile(f"{_START}([^{_START}{_END}]*){_END}")
_NOT_TEXT: Final = re.compile(
    r"<(textarea|title|script|style|option)\b.*?</\1\s*>|<!--.*?-->|<[/a-z](?:\"[^\"]*\"|'[^']*'|[^'\">])*>",
    re.IGNORECASE | re.DOTALL,
)
_PARAGRAPHS: Final = re.compile("([\n\r\u001c-\u001e\u0085\u2029])")
"""What ends an isolate, too, where line breaks are kept."""
_ISOLATE: Final = "\u2068"
_POP: Final = "\u2069"


def mark(value: object) -> object:
    """Mark a value whose text has controls of direction. HTML that is already safe is returned as it is."""
    if hasattr(value, "__html__"):
        return value
    text = value if isinstance(value, str) else str(value)
    if _CONTROLS.search(text) is None:
        return value
    return f"{_START}{_MARKS.sub('', text)}{_END}"


def isolate(html: str) -> str:
    """Isolate the marked values in the text of a document, and remove the marks everywhere else."""
    if _START not in html:
        return html
    html = _NOT_TEXT.sub(lambda found: _MARKS.sub("", found[0]), html)
    html = _MARKED.sub(lambda found: "".join(map(_isolated, _PARAGRAPHS.split(found[1]))), html)
    return _MARKS.sub("", html)


def _isolated(text: str) -> str:
    """Return a text in an isolate that it cannot end: every isolate that is opened in it is closed."""
    if _CONTROLS.search(text) is None:
        return text
    depth = 0
    characters = []
    for character in text:
        if character == _POP:
            if depth == 0:
                continue
            depth -= 1
        elif "\u2066" <= character <= "\u2068":
            depth += 1
        characters.append(character)
    return _ISOLATE + "".join(characters) + _POP * (depth + 1)
