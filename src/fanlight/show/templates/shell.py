"""The document of a rendered page without its content, which comes with the result of the tool."""

import json
from collections.abc import Mapping
from functools import cache
from html import escape
from pathlib import Path

from fanlight import browser
from fanlight.protocol.errors import BundleError
from fanlight.server.html_source import InFolder
from fanlight.show.document import inlined, read_page


def shell(
    title: str, description: str, head: Path | None, *, htmx: bool, scripts: bool, fresh: Mapping[str, str]
) -> str | InFolder:
    """Return the document.

    `head` is a file of the author's whose content is added to the document's head, with the files that it refers to.
    `htmx` adds the bridge to htmx, `scripts` lets scripts in templates run. `fresh` has the HTML of results that the
    page already got, by their ids, for templates that have changed since.
    """
    html = read_page("template.html").replace("TITLE", escape(title)).replace("DESCRIPTION", escape(description))
    html = html.replace("/* style */", _style()).replace("/* script */", _script(htmx))
    html = html.replace("OPTIONS", escape(json.dumps({"scripts": scripts, "fresh": fresh})))
    first, _, rest = html.partition("<!-- head -->")
    if head is None:
        return first + rest
    # On one line, so that lines in errors are those of the author's file.
    return InFolder(" ".join(first.splitlines()) + _read(head) + rest, head.parent, str(head))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise BundleError(path, None, f"cannot be read: {error.strerror}. Check the path.") from None
    except UnicodeDecodeError as error:
        raise BundleError(path, None, f"is not UTF-8: {error}. Save the file as UTF-8.") from None


@cache
def _style() -> str:
    return inlined("theme.css", "template.css")


@cache
def _script(htmx: bool) -> str:
    return browser.minified(inlined("swap.js", *(["htmx.js"] if htmx else []), "template.js"))
