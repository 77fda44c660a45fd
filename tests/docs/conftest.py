from pathlib import Path

import pytest

from support.scripts import script
from support.site import copied


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documentation site, built strictly, once for all tests."""
    root = copied(tmp_path_factory.mktemp("site"))
    built = script("docs").build(root)
    assert isinstance(built, Path)
    return built
