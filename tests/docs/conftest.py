import os
import time
from pathlib import Path

import pytest

from support.scripts import script
from support.site import copied


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documentation site, built strictly, once for all tests and all processes that run them."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "shared-site"
    try:
        folder.mkdir()
    except FileExistsError:
        return _built_by_another_process(folder)
    built = Path()
    try:
        built = Path(script("docs").build(copied(folder)))
    finally:
        # Renamed, so that nobody reads half of it.
        (folder / "path.part").write_text(str(built), encoding="utf-8")
        (folder / "path.part").rename(folder / "path")
    return built


def _built_by_another_process(folder: Path) -> Path:
    for _ in range(2_500):
        if (folder / "path").exists():
            break
        time.sleep(0.1)
    built = Path((folder / "path").read_text(encoding="utf-8"))
    assert (built / "index.html").exists(), "The site could not be built; another test has the error."
    return built
