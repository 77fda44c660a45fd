import sys
from pathlib import Path

import pytest

from support.connected import CHILD, RAW_SERVER


@pytest.fixture
def raw(tmp_path: Path) -> list[str]:
    script = tmp_path / "raw.py"
    script.write_text(RAW_SERVER, encoding="utf-8")
    return [sys.executable, str(script)]


@pytest.fixture
def child(tmp_path: Path) -> list[str]:
    script = tmp_path / "child.py"
    script.write_text(CHILD, encoding="utf-8")
    return [sys.executable, str(script)]
