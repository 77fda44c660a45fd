"""The page about the architecture names what there is, and nothing else."""

import pkgutil
import re

import fanlight
from support.docs import ROOT

PAGE = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")


def test_the_map_has_every_package() -> None:
    packages = {f"fanlight.{module.name}" for module in pkgutil.iter_modules(fanlight.__path__) if module.ispkg}
    assert set(re.findall(r"^\| `(fanlight\.\w+)` \|", PAGE, re.MULTILINE)) == packages


def test_readme_and_contributing_lead_to_it() -> None:
    for name in ("README.md", "CONTRIBUTING.md"):
        assert "(docs/explanation/architecture.md)" in (ROOT / name).read_text(encoding="utf-8")
