import os
import sys
from pathlib import Path

import pytest

# The Node inside Playwright needs libatomic1, which a bare Debian lacks; the one that setup.py links needs nothing.
if (node := Path(sys.executable).with_name("node")).exists():
    os.environ.setdefault("PLAYWRIGHT_NODEJS_PATH", str(node))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
