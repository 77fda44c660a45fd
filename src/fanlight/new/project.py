"""One project: its files, the folder that they are written to, and the commands that come next."""

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fanlight import __version__
from fanlight.new.project_name import ProjectName
from fanlight.new.template import Template, build_backend_tables
from fanlight.protocol.errors import LocalError, UsageError

BuildBackend = Literal["hatchling", "setuptools", "uv_build"]


class ProjectExistsError(LocalError):
    """There are files where the project would be written."""


@dataclass(frozen=True)
class Project:
    """A project that can be written. `folder` is where it goes."""

    name: ProjectName
    template: Template
    build_backend: BuildBackend
    folder: Path

    @property
    def tool(self) -> str:
        """The tool with the View."""
        return self._named(self.template.tool)

    def files(self) -> dict[str, str]:
        """Return the content of each file, by its path in the folder."""
        files = self.template.files()
        files["README.md"] = files["README.md"].replace("BUILD_BACKEND", self.build_backend)
        project_table = files["pyproject.toml"].replace('"DEPENDENCIES"', self._dependencies())
        files["pyproject.toml"] = project_table + build_backend_tables(self.build_backend)
        return {self._named(path): self._named(text) for path, text in sorted(files.items())}

    def commands(self) -> list[str]:
        """Return the commands that install the project and show it."""
        packages = ["npm install"] if self.template.needs_node else []
        upgrade = 'python -m pip install --upgrade "pip>=25.1"'  # older versions do not know --group
        install = "python -m pip install --editable . --group dev"
        return [f"cd {self.folder.name}", upgrade, install, *packages, "fanlight dev server.py"]

    def notes(self) -> list[str]:
        """Return what has to be installed before these commands work."""
        if not self.template.needs_node or shutil.which("npm") is not None:
            return []
        return [
            "npm was not found, and the View needs it: install Node.js 22.12 or later from https://nodejs.org. "
            "The server starts without it, and clients get text."
        ]

    def write(self) -> None:
        """Write the files. Raise `ProjectExistsError` if the folder is not empty."""
        check_is_free(self.folder)
        write_files(self.folder, self.files())

    def _dependencies(self) -> str:
        fanlight = f"fanlight[{self.template.extra}]" if self.template.extra else "fanlight"
        return ", ".join(f'"{one}"' for one in (f"{fanlight}>={__version__}", *self.template.packages))

    def _named(self, text: str) -> str:
        """Replace the placeholders in one pass, since the name may contain one of them."""
        spellings = {"my_app": self.name.module, "my-app": self.name.package, "My app": self.name.title}
        if self.template.tool != "show_my_app":
            spellings["show_my_app"] = self.template.tool
        pattern = "|".join(sorted(spellings, key=len, reverse=True))
        return re.sub(pattern, lambda match: spellings[match[0]], text)


def check_is_free(folder: Path) -> None:
    """Raise `ProjectExistsError` if there is a file, or a folder that is not empty."""
    try:
        is_free = not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))
    except OSError as error:
        raise UsageError(f"{folder} cannot be read: {error.strerror}.") from None
    if not is_free:
        raise ProjectExistsError(
            f"{folder} already exists, and fanlight new overwrites nothing. Choose another name, or remove it."
        )


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write files, and replace none that exists. Raise `UsageError` if the folder cannot be written to."""
    try:
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
    except FileExistsError as error:
        raise ProjectExistsError(f"{error.filename} already exists, and fanlight new overwrites nothing.") from None
    except OSError as error:
        raise UsageError(f"{error.filename or folder} cannot be written: {error.strerror}.") from None
