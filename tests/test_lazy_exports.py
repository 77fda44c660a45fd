"""Packages import their public names on first use, and type checkers see the same names."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGES = ("fanlight", "fanlight.check", "fanlight.host")


@pytest.mark.parametrize("package", PACKAGES)
def test_the_exports_are_the_names_that_type_checkers_see(package: str) -> None:
    module = importlib.import_module(package)
    tree = ast.parse(Path(module.__file__ or "").read_text(encoding="utf-8"))
    [block] = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    }

    assert sorted(seen) == module.__all__
    assert all(getattr(module, name) is getattr(importlib.import_module(seen[name] or ""), name) for name in seen)
    assert set(module.__all__) <= set(dir(module))


@pytest.mark.parametrize("package", PACKAGES)
def test_an_unknown_name_is_an_attribute_error(package: str) -> None:
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        importlib.import_module(package).nothing  # noqa: B018


@pytest.mark.process
def test_importing_the_package_does_not_import_the_sdk() -> None:
    script = "import sys, fanlight, fanlight.host, fanlight.check; print({'mcp', 'pydantic', 'anyio'} & {*sys.modules})"

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout.strip() == "set()"
