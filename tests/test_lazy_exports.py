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


@pytest.mark.parametrize(
    ("missing", "name", "extra"),
    [
        ("orjson", "Host", "host"),
        ("redis", "RedisBus", "redis"),
        ("redis", "RedisStore", "redis"),
        ("psycopg", "PostgresStore", "postgres"),
        ("psycopg_pool", "PostgresStore", "postgres"),
    ],
)
@pytest.mark.process
def test_an_import_without_the_extra_says_in_one_line_what_to_install(missing: str, name: str, extra: str) -> None:
    script = f"import sys; sys.modules[{missing!r}] = None; from fanlight.host import {name}"

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)

    said = f"ModuleNotFoundError: fanlight.host needs {missing}. Run: pip install 'fanlight[{extra}]'"
    assert done.stderr.splitlines()[-1] == said
    assert "orjson" not in done.stderr.replace(said, "")  # no second traceback before it


@pytest.mark.process
def test_the_tools_need_neither_a_database_nor_its_packages() -> None:
    modules = ", ".join(f"fanlight.{name}" for name in ("cli", "inspector.inspector", "check", "probe", "testing.shot"))
    missing = "redis psycopg psycopg_pool"
    script = f"import sys; sys.modules |= dict.fromkeys({missing!r}.split()); import {modules}; print('imported')"

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)

    assert done.stdout.strip() == "imported", done.stderr


@pytest.mark.process
def test_importing_the_package_does_not_import_the_sdk() -> None:
    script = "import sys, fanlight, fanlight.host, fanlight.check; print({'mcp', 'pydantic', 'anyio'} & {*sys.modules})"

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout.strip() == "set()"
