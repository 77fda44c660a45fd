"""The scripts that the host serves are the source files without what only readers need."""

import re
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from fanlight.browser import served_script
from fanlight.host.web.assets import PAGE_SCRIPTS
from support.node import node

SCRIPTS = (*sorted(PAGE_SCRIPTS), "sandbox.js")


@pytest.mark.parametrize("name", SCRIPTS)
def test_only_comments_and_white_space_are_removed(name: str) -> None:
    source = files("fanlight.browser").joinpath(name).read_text(encoding="utf-8")
    code = re.sub(r"^\s*(?://.*|/\*[\s\S]*?\*/\s*)$", "", source, flags=re.MULTILINE)
    code = re.sub(r"/\*\* .*? \*/", "", code)
    assert re.sub(r"\s", "", served_script(name)) == re.sub(r"\s", "", code)


@pytest.mark.process
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_served_script_has_valid_syntax(name: str, tmp_path: Path) -> None:
    path = tmp_path / "script.mjs"
    path.write_text(served_script(name), encoding="utf-8")
    checked = subprocess.run([node(), "--check", str(path)], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_a_line_with_a_comment_at_its_end_keeps_its_end() -> None:
    """Goes red if such a line is joined with the next, which would become part of the comment."""
    for name in SCRIPTS:
        assert not [line for line in served_script(name).splitlines() if re.search(r"[;,{(] // .*[;{]", line)]
