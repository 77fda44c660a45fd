"""The files for projects in TypeScript, which authors copy into them: types, and a component for React."""

from importlib.resources import files
from pathlib import Path
from typing import Final

_VIEW: Final = {
    "view.d.ts": "view.d.ts",
    "view-files.d.ts": "view-files.d.ts",
    "view-react.d.ts": "view-react.d.ts",
    "types/view-tsconfig.json": "tsconfig.json",
}
_PAGE: Final = {f"types/{name}": name for name in ("mcp-app.d.ts", "mcp-app-react.d.ts", "mcp-app-react.js")}


def write_view_types(folder: Path) -> list[Path]:
    """Write the types of the View SDK, with a tsconfig.json that resolves its modules to them, and return the paths."""
    return _write(_VIEW, folder)


def write_page_types(folder: Path) -> list[Path]:
    """Write the types of `<mcp-app>` and its component for React, and return the paths."""
    return _write(_PAGE, folder)


def _write(names: dict[str, str], folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    package = files("fanlight.browser")
    for source, name in names.items():
        (folder / name).write_bytes(package.joinpath(source).read_bytes())
    return [folder / name for name in names.values()]
