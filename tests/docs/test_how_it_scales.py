"""docs/explanation/how-it-scales.md has the operations of the store and the bus that are counted."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.databases import RedisServer
from support.docs import ROOT

pytestmark = [pytest.mark.anyio, pytest.mark.process]

PAGE = (ROOT / "docs" / "explanation" / "how-it-scales.md").read_text(encoding="utf-8")


@pytest.fixture
def operations() -> Iterator[Any]:
    """The module of the benchmark that counts."""
    sys.path.insert(0, str(ROOT))
    try:
        from bench import operations

        yield operations
    finally:
        sys.path.remove(str(ROOT))


async def test_the_operations_of_each_message_are_those_that_are_counted(
    operations: Any, redis_server: RedisServer, tmp_path: Path
) -> None:
    """Goes red if a message of a View needs one more operation than the page says."""
    redis_server.clear()
    rows = re.findall(r"^\| ((?:model|page|View): [^|]+) \| (\d+) \| (\d+) \|$", PAGE, re.MULTILINE)
    documented = {name: {"store": int(store), "bus": int(bus)} for name, store, bus in rows}
    counted = {
        name: {
            part: sum(count for key, count in counts.items() if key.startswith(f"{part}.")) / operations.REPEATS
            for part in ("store", "bus")
        }
        for name, counts in (await operations.count(str(tmp_path / "host.db"), redis_server.url)).items()
    }
    assert counted.keys() == documented.keys()
    # Not exactly: what is written at intervals, or once for several Views, counts as a fraction.
    assert {name: pytest.approx(counts, abs=0.9) for name, counts in documented.items()} == counted
