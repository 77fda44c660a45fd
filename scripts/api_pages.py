"""Write the summaries of the public API into the pages of docs/reference.

python scripts/api_pages.py    write them; a test fails while they differ from the docstrings

A page says what it documents, and where:

    <!-- api: fanlight.host.Question -->
    <!-- /api -->

What is between these lines is generated: heading, first paragraph, and tables of arguments, fields and methods. A code
host shows it as it is. On the site, scripts/site_markdown.py replaces it with the full entry of mkdocstrings. Options
follow the name: `name=stage.open_view` sets the heading, `without=open,lifetime` leaves members out, and on the site
`signature=no` hides the signature of a function and `init=no` that of a class.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

import griffe

ROOT: Final = Path(__file__).resolve().parent.parent
REFERENCE: Final = ROOT / "docs" / "reference"
sys.path.insert(0, str(Path(__file__).parent))

from site_markdown import Block, parse_block  # noqa: E402

_BLOCK: Final = re.compile(r"^(<!-- api: [^\n]+ -->)\n.*?^(<!-- /api -->)$", re.MULTILINE | re.DOTALL)


@cache
def load() -> griffe.Object:
    """Return the package, read from its source."""
    package = griffe.load("fanlight", search_paths=[ROOT / "src"], docstring_parser="google", resolve_aliases=True)
    assert isinstance(package, griffe.Object)
    return package


def filled(page: str, package: griffe.Object) -> str:
    """Return a page with its summaries as they are now."""

    def summary(found: re.Match[str]) -> str:
        block = parse_block(found[1])
        assert block is not None, found[1]
        lines = "\n".join(_summary(block, package[block.path.removeprefix("fanlight.")]))
        return f"{found[1]}\n{lines}\n{found[2]}"

    return _BLOCK.sub(summary, page)


def members(block: Block, target: griffe.Object | griffe.Alias) -> Iterator[griffe.Object | griffe.Alias]:
    """Return the documented public members that an entry shows."""
    for name, member in target.members.items():
        is_private = name.startswith("_") and name != "__call__"
        if not (is_private or name in block.without or member.is_class) and member.docstring:
            yield member


def _summary(block: Block, target: griffe.Object | griffe.Alias) -> Iterator[str]:
    yield f"### `{block.name}`"
    yield ""
    yield _sentences(target)
    shown = list(members(block, target)) if target.is_class else []
    fields = [member for member in shown if member.is_attribute]
    methods = [member for member in shown if member.is_function]
    yield from _table("argument", ((name, text) for name, text in arguments(target)))
    if any(re.match(r"`(?:\d|'.)", _default(field)) for field in fields):
        yield from _table("field", ((field.name, _default(field), _sentences(field)) for field in fields), "default")
    else:
        yield from _table("field", ((field.name, _sentences(field)) for field in fields))
    yield from _table("method", ((method.name, _sentences(method)) for method in methods))


def _table(kind: str, rows: Iterable[tuple[str, ...]], *columns: str) -> Iterator[str]:
    lines = [f"| `{name}` | {' | '.join(map(_cell, cells))} |" for name, *cells in rows]
    if lines:
        yield from ("", f"| {' | '.join((kind, *columns, ''))} |", "|---" * (len(columns) + 2) + "|", *lines)


def _default(field: griffe.Object | griffe.Alias) -> str:
    """Return the default of a field of a dataclass or named tuple, where it is a value other than None."""
    value = str(getattr(field, "value", None))
    is_field = {"class-attribute", "instance-attribute"} <= field.labels
    if not is_field or value == "None" or value.startswith("field("):
        return ""
    return f"`{int(value):_}`" if value.isdecimal() else f"`{value}`"


def arguments(target: griffe.Object | griffe.Alias) -> list[tuple[str, str]]:
    """Return the arguments that a docstring explains, and how."""
    return [
        (argument.name, argument.description)
        for section in _sections(target)
        if isinstance(section, griffe.DocstringSectionParameters)
        for argument in section.value
    ]


def _sentences(target: griffe.Object | griffe.Alias) -> str:
    """Return the first paragraph of a docstring, as one line."""
    for section in _sections(target):
        if isinstance(section, griffe.DocstringSectionText):
            return " ".join(section.value.split("\n\n")[0].split())
    raise ValueError(f"{target.path} has no docstring.")


def _sections(target: griffe.Object | griffe.Alias) -> Iterable[griffe.DocstringSection]:
    return [] if target.docstring is None else target.docstring.parsed


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    fanlight = load()
    for path in sorted(REFERENCE.glob("*.md")):
        before = path.read_text(encoding="utf-8")
        after = filled(before, fanlight)
        if after != before:
            path.write_text(after, encoding="utf-8")
