"""Node projects: the `package.json` whose build script writes the document of a View."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

BUILD_FOLDERS: Final = frozenset({"dist", "build"})
"""The names of folders into which builds write."""

_VITE_CONFIGS: Final = tuple(f"vite.config.{suffix}" for suffix in ("js", "mjs", "cjs", "ts", "mts", "cts"))


@dataclass(frozen=True)
class NodeProject:
    """A folder with a `package.json` that has a build script."""

    folder: Path
    build: str
    """The command of the build script."""
    packages: frozenset[str]
    """The names of the packages that the project depends on."""

    @property
    def config_files(self) -> tuple[Path, ...]:
        """The files that configure the project and its build; some of them may not exist."""
        return tuple(self.folder / name for name in ("package.json", *_VITE_CONFIGS))

    @property
    def uses_vite(self) -> bool:
        """Whether the project is built with Vite."""
        return "vite" in self.packages or any((self.folder / name).is_file() for name in _VITE_CONFIGS)

    def find_vite(self) -> Path | None:
        """Return the `package.json` of the installed Vite, where Node finds it, or None."""
        for folder in (self.folder, *self.folder.parents):
            package = folder / "node_modules" / "vite" / "package.json"
            if package.is_file():
                return package
        return None


def project_of(document: Path) -> NodeProject | None:
    """Return the project whose build script writes a document, or None if no build writes it.

    The document is in a folder `dist` or `build`, and the nearest `package.json` is above that folder.
    """
    if BUILD_FOLDERS.isdisjoint(document.parts):
        return None
    in_build_folder = False
    for folder in document.parents:
        if (folder / "package.json").is_file():
            return read_project(folder) if in_build_folder else None
        in_build_folder = in_build_folder or folder.name in BUILD_FOLDERS
    return None


def read_project(folder: Path) -> NodeProject | None:
    """Return the project of a folder, or None if it has no valid `package.json` with a build script."""
    try:
        content: Any = json.loads((folder / "package.json").read_bytes())
    except (OSError, ValueError):
        return None
    match content:
        case {"scripts": {"build": str(build)}}:
            packages = (content.get(key) for key in ("dependencies", "devDependencies"))
            names = frozenset(str(name) for group in packages if isinstance(group, Mapping) for name in group)
            return NodeProject(folder, build, names)
    return None


def why_not_built(project: NodeProject) -> str | None:
    """Return what to install before the project can be built, or None if everything is there."""
    install = f"run `npm install` in {project.folder}"
    is_installed = project.find_vite() is not None
    if shutil.which("node") is None:
        missing = "Node.js, with npm," if not is_installed and shutil.which("npm") is None else "Node.js"
        then = "" if is_installed else f", then {install}"
        return f"Node.js was not found. Install {missing} from your package manager or https://nodejs.org{then}."
    if is_installed:
        return None
    if shutil.which("npm") is None:
        return f"npm was not found. Install it from your package manager, then {install}."
    return f"Its packages are not installed. {install[0].upper()}{install[1:]}."
