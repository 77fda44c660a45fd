"""The wheel has every file of the package: also what Python does not import, such as scripts and types for pages."""

from pathlib import Path
from zipfile import ZipFile

import pytest
from hatchling.builders.wheel import WheelBuilder

from fanlight.host.web.assets import PAGE_SCRIPTS
from support.docs import ROOT

PACKAGE = ROOT / "src"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Build the wheel, and return the names of its files."""
    folder = tmp_path_factory.mktemp("wheel")
    (path,) = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    with ZipFile(path) as archive:
        return set(archive.namelist())


def files(folder: Path) -> set[str]:
    """Return the files below a folder as the wheel names them, without those that Python compiled."""
    found = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(PACKAGE).as_posix() for path in found}


def test_the_wheel_has_what_browsers_load_and_the_types_for_it(wheel: set[str]) -> None:
    browser = files(PACKAGE / "fanlight" / "browser")
    assert browser <= wheel
    types = {
        "view.d.ts",
        "view-react.d.ts",
        "types/mcp-app.d.ts",
        "types/view-tsconfig.json",
        "types/mcp-app-react.d.ts",
        "types/mcp-app-react.js",
    }
    scripts = PAGE_SCRIPTS | {"sandbox.js", "view.js"}
    assert {f"fanlight/browser/{name}" for name in types | scripts | {"proxy.html"}} <= browser


def test_the_wheel_has_every_file_of_the_package_and_no_other(wheel: set[str]) -> None:
    examples = {name for name in wheel if name.startswith("fanlight/examples/")}
    metadata = {name for name in wheel if ".dist-info/" in name}
    assert wheel - examples - metadata == files(PACKAGE / "fanlight")
    assert "fanlight/py.typed" in wheel
