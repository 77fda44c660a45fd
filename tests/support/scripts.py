"""The programs in scripts/, as modules."""

import importlib
import sys
from types import ModuleType

from support.docs import ROOT


def script(name: str) -> ModuleType:
    """Import scripts/<name>.py, which may import its neighbours."""
    folder = str(ROOT / "scripts")
    sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(folder)
