"""Write the tables of docs/reference/dialects.md from the table that the host translates with.

python scripts/dialects_page.py    write them; a test says when they are not those of the code
"""

import re
from pathlib import Path
from typing import Final

from fanlight.protocol.dialects import ROWS, Row

PAGE: Final = Path(__file__).parents[1] / "docs" / "reference" / "dialects.md"
_PLACE: Final = re.compile(r"(<!-- rows: ([\w ]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_SENDERS: Final = {"view": "a View", "host": "the host", "server": "a server"}


def table(kinds: str) -> str:
    """Return the rows of some kinds."""
    head = ("name", "dialect", "sent by", "standard", "")
    rows = [_cells(row) for row in ROWS if row.kind in kinds.split()]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, ("---",) * len(head), *rows))


def _cells(row: Row) -> tuple[str, ...]:
    today = f"`{row.today}`" if row.today else "none"
    return f"`{row.older}`", row.dialect, _SENDERS[row.sender], today, row.note


def filled(page: str) -> str:
    """Return the page with its tables as they are now."""
    return _PLACE.sub(lambda place: place[1] + table(place[2]) + place[3], page)


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
