"""A script that the host puts before everything else in a document."""

import re
from typing import Final

# What may stand before the first element without ending the head.
DOCTYPE: Final = re.compile(r"\A\ufeff?(?:\s|<!--.*?-->)*<!doctype[^>]*>", re.IGNORECASE | re.DOTALL)


def put_first(element: str, html: str) -> str:
    """Put an element before all others of a document, in the line of its doctype: the lines keep their numbers.

    Before the doctype, it would change how the document is laid out.
    """
    found = DOCTYPE.match(html)
    if found is None:
        return element + html.removeprefix("\ufeff")
    return html[: found.end()] + element + html[found.end() :]
