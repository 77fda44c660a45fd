"""The documents of the Views in this package: one page, with the scripts for what it can show."""

import re
from collections.abc import Iterable
from importlib.resources import files
from typing import Final

from fanlight import browser

_PAGES: Final = files(__package__).joinpath("pages")
_BROWSER: Final = files(browser.__name__)
# Imports and exports between the scripts, which share one scope in the document.
_BETWEEN: Final = re.compile(r'^(?:import [^;]*? from "\.{1,2}/[^;]*;|export \{[^}]*\};)\n', re.MULTILINE)


def document(title: str, description: str, scripts: Iterable[str], page: str = "page") -> str:
    """Return a page with some of the scripts in `pages` and the stylesheets of their names, in this order."""
    scripts = list(scripts)
    sheets = [f"{name}.css" for name in ("theme", "page", *scripts)]
    lines = (line.strip() for line in read_page(f"{page}.html").splitlines())
    html = "\n".join(lines).replace("TITLE", title).replace("DESCRIPTION", description)
    styles = [name for name in dict.fromkeys(sheets) if _PAGES.joinpath(name).is_file()]
    html = html.replace("/* style */", inlined(*styles))
    return html.replace("/* script */", inlined(*(f"{name}.js" for name in scripts)))


def inlined(*names: str) -> str:
    """Return scripts or stylesheets in `pages` as one, to be inlined."""
    return "".join(_compact(name, browser.compact(_BETWEEN.sub("", read_page(name)))) for name in names).rstrip()


def _compact(name: str, text: str) -> str:
    if name.endswith(".css"):
        return _compact_style(text)
    # The scripts of forms follow the conventions of view.js.
    return f"{browser.minified(text)}\n" if name.startswith("form") else text


def _compact_style(style: str) -> str:
    """Return a stylesheet without spaces and semicolons that it does not need. Its strings contain none of these."""
    return re.sub(r"\s*([{};,])\s*|(:)\s+", r"\1\2", style).replace(";}", "}")


def read_page(name: str) -> str:
    """Return a file in `pages`, or in `fanlight.browser` if its name begins with `form/`."""
    folder = _BROWSER if name.startswith("form/") else _PAGES
    return folder.joinpath(name).read_text(encoding="utf-8")
