"""The program that a prewarmed process runs; `fanlight.dev.prewarm` starts it as a file, and nothing imports it.

It imports the modules named on its command line, reads the path of a server's file from stdin, and then runs that file
as `python FILE` would.
"""

import sys

del sys.path[0]  # the folder of this file, whose modules must not be importable by their bare names

import importlib  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import types  # noqa: E402
from contextlib import suppress  # noqa: E402
from importlib.machinery import SourceFileLoader  # noqa: E402
from pathlib import Path  # noqa: E402


def load(names: list[str]) -> None:
    """Import modules, and names of modules (`module:name`). Failures are ignored: the server's own import will fail."""
    for each in names:
        module, _, name = each.partition(":")
        with suppress(Exception):
            getattr(importlib.import_module(module), name or "__name__")


def read_path() -> str | None:
    """Read the path of the file, one line of JSON on stdin, without reading anything that follows it."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            return None
        line += byte
    return str(json.loads(line))


def is_shadowed(script: str) -> bool:
    """Return whether a file or folder next to the script has the name of a module that is imported already."""
    siblings = {path.stem if path.suffix == ".py" else path.name for path in Path(script).parent.iterdir()}
    return not siblings.isdisjoint(name.partition(".")[0] for name in sys.modules)


def run(script: str) -> None:
    """Run a file as the main module."""
    if is_shadowed(script):
        os.chdir(Path(script).parent)
        os.execv(sys.executable, [sys.executable, script])  # noqa: S606  the author's own file
    sys.argv[:] = [script]
    sys.path.insert(0, str(Path(script).parent))
    os.chdir(Path(script).parent)
    module = types.ModuleType("__main__")
    vars(module).update(
        __file__=script, __cached__=None, __loader__=SourceFileLoader("__main__", script), __builtins__=__builtins__
    )
    sys.modules["__main__"] = module
    try:
        exec(compile(Path(script).read_bytes(), script, "exec", dont_inherit=True), vars(module))  # noqa: S102  the author's own file
    except Exception as error:
        bare = error.with_traceback(error.__traceback__ and error.__traceback__.tb_next)
        sys.excepthook(type(bare), bare, bare.__traceback__)
        sys.exit(1)


load(sys.argv[1:])
if (path := read_path()) is not None:
    run(path)
