"""The tree of errors: what the package raises for its callers, and the drawing of it."""

import ast
import builtins
import importlib
import pkgutil
import re
from pathlib import Path
from types import ModuleType

import pytest

import fanlight
from fanlight.protocol import errors
from fanlight.protocol.errors import FanlightError, LocalError, RefusedError, RemoteError
from support.docs import ROOT

SOURCE = ROOT / "src" / "fanlight"
LINE = re.compile(r"^(?P<indent>[│ ]*)(?:[├└]── )?(?P<name>\w+)(?:  .*)?$")
DRAWN = "\n".join(line[4:] for line in (errors.__doc__ or "").splitlines() if line.startswith("    "))
"""The tree, as the docstring of the module has it."""
BUILTINS_RAISED = {
    "AttributeError",  # module-level __getattr__
    "ModuleNotFoundError",  # the same, if an extra is not installed: what `import` raises
    "StopAsyncIteration",  # __anext__
    "AssertionError",  # a failed expectation of a test
}


def modules() -> list[ModuleType]:
    """Import every module of the package, except those that are programs."""
    names = [found.name for found in pkgutil.walk_packages(fanlight.__path__, "fanlight.")]
    return [importlib.import_module(name) for name in names if not name.rpartition(".")[2].startswith("_")]


def exceptions() -> set[type[Exception]]:
    """Return the public exceptions that the package defines."""
    return {
        value
        for module in modules()
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Exception)
        if value.__module__ == module.__name__ and not name.startswith("_")
    }


def drawing(text: str) -> dict[str, str | None]:
    """Read a drawing of a tree: the parent of each name."""
    parents: dict[str, str | None] = {}
    path: list[str] = []
    for line in text.splitlines():
        found = LINE.match(line)
        if found is None or not found["name"].endswith("Error"):
            continue
        depth = len(found["indent"]) // 4 + ("── " in line)
        path[depth:] = [found["name"]]
        parents[found["name"]] = path[depth - 1] if depth else None
    return parents


def test_every_public_exception_belongs_to_the_tree() -> None:
    assert {kind for kind in exceptions() if not issubclass(kind, FanlightError)} == set()


def test_the_drawing_shows_every_error_below_its_parent() -> None:
    assert drawing(DRAWN) == {kind.__name__: _parent(kind) for kind in exceptions()}


def _parent(kind: type[Exception]) -> str | None:
    ours = [base.__name__ for base in kind.__bases__ if issubclass(base, FanlightError)]
    assert len(ours) == (kind is not FanlightError), kind
    return ours[0] if ours else None


def test_every_error_says_who_can_do_something_about_it() -> None:
    forks = (LocalError, RemoteError, RefusedError)
    undecided = {kind for kind in exceptions() if sum(issubclass(kind, fork) for fork in forks) != 1}
    assert undecided == {FanlightError}


def test_the_reference_draws_the_same_tree() -> None:
    page = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    assert DRAWN in page


@pytest.mark.parametrize(
    "path",
    sorted(path for path in SOURCE.rglob("*.py") if SOURCE / "new" / "templates" not in path.parents),
    ids=lambda path: str(path.relative_to(SOURCE)),
)
def test_no_module_raises_a_builtin_error_to_its_callers(path: Path) -> None:
    tree = ast.parse(path.read_bytes())
    caught = {
        id(statement)
        for node in ast.walk(tree)
        if isinstance(node, ast.Try)
        for part in node.body
        for statement in ast.walk(part)
    }
    raised = {
        f"{node.exc.func.id} in line {node.lineno}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name)
        if isinstance(kind := vars(builtins).get(node.exc.func.id), type) and issubclass(kind, BaseException)
        if node.exc.func.id not in BUILTINS_RAISED and id(node) not in caught
    }
    assert raised == set(), "Raise an error of fanlight.protocol.errors."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the disk is full", "the disk is full."),
        ("the disk\n  is full.", "the disk is full."),
        ("really?", "really?"),
        ("and so on...", "and so on..."),
        ("a long reason that goes on", "a long reason..."),
    ],
)
def test_a_text_of_somebody_else_becomes_a_sentence_with_one_mark_at_its_end(text: str, expected: str) -> None:
    assert errors.sentence(text, 17) == expected
