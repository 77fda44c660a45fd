"""Insert an element before everything else in a document."""

from fanlight.protocol.html import find_doctype


def put_first(element: str, html: str) -> str:
    """Insert an element before all others of a document, on the line of its doctype, so that lines keep their numbers.

    Before the doctype, the element would put the document into quirks mode.
    """
    doctype = find_doctype(html)
    if doctype is None:
        return element + html.removeprefix("\ufeff")
    return html[: doctype.end] + element + html[doctype.end :]
