"""Projects of `fanlight new`, with the packages that are installed for the tests."""

import json
from pathlib import Path

from fanlight.new.project import BuildBackend, Project
from fanlight.new.project_name import ProjectName
from fanlight.new.template import TEMPLATES
from support.node import node_module


def create_project(folder: Path, template: str, backend: BuildBackend = "hatchling") -> Path:
    """Write the project `tides` into a folder, and return its path."""
    project = Project(ProjectName.parse("tides"), TEMPLATES[template], backend, folder / "tides")
    project.write()
    return project.folder


def link_packages(project: Path) -> None:
    """Put the packages that `package.json` names, and no others, into the project's node_modules."""
    manifest = json.loads((project / "package.json").read_text(encoding="utf-8"))
    modules = project / "node_modules"
    for name in (*manifest["dependencies"], *manifest["devDependencies"]):
        # The name without a version belongs to the 1.x package here.
        source = node_module("ext-apps-2" if name == "@modelcontextprotocol/ext-apps" else name)
        (modules / name).parent.mkdir(parents=True, exist_ok=True)
        (modules / name).symlink_to(source, target_is_directory=True)
    (modules / ".bin").mkdir()
    (modules / ".bin" / "vite").symlink_to(node_module("vite/bin/vite.js"))
