"""Public names of a package that are imported from their modules on first use."""

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def lazy_exports(
    package: str, modules: Mapping[str, Sequence[str]], extras: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` for a package.

    `modules` maps modules, named relative to the package, to the names that they export. Type checkers cannot read it,
    so the package also imports the names under `TYPE_CHECKING`; `tests/test_lazy_exports.py` compares the two lists.
    `extras` maps packages that are not installed with Fanlight to the extras that install them.
    """
    module_of = {name: f"{package}.{module}" for module, names in modules.items() for name in names}

    def load(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            value = getattr(importlib.import_module(module_of[name]), name)
        except ModuleNotFoundError as error:
            missing = (error.name or "").partition(".")[0]
            if extras is None or missing not in extras:
                raise
            install = f"pip install 'fanlight[{extras[missing]}]'"
            # Without the traceback of the import below it, which says less.
            raise ModuleNotFoundError(f"{package} needs {missing}. Run: {install}", name=missing) from None
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *module_of})

    return load, names, sorted(module_of)
