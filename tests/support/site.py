"""Copies of what the documentation site is built from, so that a test can build it and break it."""

import re
import shutil
from pathlib import Path

from support.docs import ROOT

_NAV = re.compile(r"^nav = \[\n.*?^\]\n", re.MULTILINE | re.DOTALL)


def copied(root: Path) -> Path:
    """Copy the sources of the site into a folder."""
    shutil.copytree(ROOT / "docs", root / "docs")
    shutil.copy(ROOT / "zensical.toml", root)
    (root / "src").symlink_to(ROOT / "src")
    return root


def small(root: Path, pages: dict[str, str], nav: list[str] | None = None) -> Path:
    """Put a site of a few pages into a folder, with the configuration of the real one."""
    listed = ", ".join(f'"{page}"' for page in (pages if nav is None else nav))
    config = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    (root / "zensical.toml").write_text(_NAV.sub(f"nav = [{listed}]\n", config), encoding="utf-8")
    shutil.copytree(ROOT / "docs" / "assets", root / "docs" / "assets")
    (root / "src").symlink_to(ROOT / "src")
    for name, text in pages.items():
        path = root / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root
