"""The direction of imports between the packages, read from the source without importing it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "fanlight"

BELOW: dict[str, set[str]] = {
    "protocol": set(),
    "lazy_exports": set(),
    "signals": set(),
    "temporary": set(),
    "node_project": set(),
    "lowlevel": {"protocol"},
    "browser": {"protocol"},
    "server": {"protocol", "browser", "lowlevel", "node_project", "temporary"},
    "mcpui": {"protocol", "browser", "server", "lazy_exports"},
    "show": {"protocol", "browser", "server", "lazy_exports", "temporary"},
    "host": {"protocol", "browser", "lowlevel", "lazy_exports"},
    "agents": {"protocol", "host"},
    "dev": {"protocol", "host", "temporary"},
    "inspector": {"protocol", "browser", "host", "dev", "node_project", "signals"},
    "chat": {"protocol", "host", "agents", "dev", "signals"},
    "testing": {"protocol", "host", "dev", "signals"},
    "rules": {"protocol", "server", "dev"},
    "check": {"protocol", "server", "host", "dev", "testing", "rules", "lazy_exports", "signals"},
    "probe": {"protocol", "server", "rules"},
    "install": {"protocol", "host", "dev", "signals"},
    "single_file": {"protocol", "browser", "server", "host", "dev", "signals"},
    "new": {"protocol"},
    "__init__": {"protocol", "server", "lazy_exports"},
    "cli": {
        *("browser", "inspector", "install", "single_file", "new", "chat", "check", "testing", "probe", "protocol"),
        *("host", "dev", "signals"),
    },
}
"""What each package or module may import. Names from `fanlight` itself, such as `Apps`, count as `__init__`."""

UPWARDS = {
    ("server/apps.py", f"fanlight.show.{name}")
    for name in (
        "shows",
        "kept",
        "files.limits",
        "files.storage",
        "files.uploads",
        "forms.form",
        "forms.forms",
        "templates.pages",
    )
}
"""The only imports against the direction: `Apps.show` and its like import what they need when they are called, so that
authors find everything at one object, and a server without tables loads nothing of it."""

ROOT_NAMES = {
    "chat": {"__version__"},
    "check": {"__version__"},
    "dev": {"fanlight"},
    "inspector": {"__version__"},
    "host": {"__version__", "fanlight"},
    "install": {"fanlight"},
    "cli": {"__version__"},
    "new": {"__version__"},
    "probe": {"Apps", "Csp", "View", "__version__"},
}
"""What each package may import from `fanlight` itself; `fanlight` is the plain `import fanlight`."""


def modules() -> Iterator[tuple[str, Path]]:
    templates = SOURCE / "new" / "templates"  # code of the projects that they become
    for path in sorted(path for path in SOURCE.rglob("*.py") if templates not in path.parents):
        yield path.relative_to(SOURCE).parts[0].removesuffix(".py"), path


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and name of each import of ours in a file, also inside functions and by `import_module`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, each.name) for each in names if each.name.partition(".")[0] == "fanlight")
            case ast.ImportFrom(module="fanlight", names=names):
                yield from ((node.lineno, f"fanlight.{each.name}") for each in names)
            case ast.ImportFrom(module=str(module)) if module.startswith("fanlight."):
                yield node.lineno, module
            case ast.ImportFrom(level=level) if level > 0:
                yield node.lineno, "a relative import"
            case ast.Call(func=ast.Name(id="import_module"), args=[ast.Constant(value=str(module)), *_]):
                yield node.lineno, module


def wrong_imports(package: str, path: Path) -> list[str]:
    wrong = []
    for line, name in imported(path):
        top = name.split(".")[1] if name.startswith("fanlight.") else name
        is_module = (SOURCE / top).is_dir() or (SOURCE / f"{top}.py").is_file()
        allowed = BELOW[package] | {package} if is_module else ROOT_NAMES.get(package, set())
        if top not in allowed and (path.relative_to(SOURCE).as_posix(), name) not in UPWARDS:
            wrong.append(f"{path.relative_to(SOURCE)}:{line} imports {name}")
    return wrong


def test_every_package_has_its_place() -> None:
    assert {package for package, _ in modules()} == set(BELOW)


def test_the_order_of_the_packages_has_no_cycle() -> None:
    left = {package: set(below) for package, below in BELOW.items()}
    while left:
        lowest = {package for package, below in left.items() if not below & set(left)}
        assert lowest, f"a cycle among {sorted(left)}"
        left = {package: below for package, below in left.items() if package not in lowest}


@pytest.mark.parametrize("package", sorted(BELOW))
def test_imports_point_one_way(package: str) -> None:
    assert [wrong for name, path in modules() if name == package for wrong in wrong_imports(package, path)] == []


def test_imports_against_the_direction_are_made_only_when_they_are_needed() -> None:
    for file, name in UPWARDS:
        tree = ast.parse((SOURCE / file).read_text(encoding="utf-8"))
        at_import = [node.module for node in tree.body if isinstance(node, ast.ImportFrom)]
        assert name not in at_import
        assert name in {imported_name for _, imported_name in imported(SOURCE / file)}


def test_an_import_inside_a_function_is_found(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("def f():\n    from fanlight.check import check\n", encoding="utf-8")
    assert list(imported(tmp_path / "x.py")) == [(2, "fanlight.check")]
