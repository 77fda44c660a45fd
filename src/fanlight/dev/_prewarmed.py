"""A Python that is kept ready to run a server. It is run as a file, by `fanlight.dev.prewarm`, never imported.

It imports what the server will import, waits to be told which file that is, and then runs the file as Python itself
would have.
"""

import sys

del sys.path[0]  # the folder of this file, whose modules are nobody's to import by their bare names

import importlib  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import types  # noqa: E402
from contextlib import suppress  # noqa: E402
from importlib.machinery import SourceFileLoader  # noqa: E402
from pathlib import Path  # noqa: E402


def load(names: list[str]) -> None:
    """Import modules, and names of modules (`module:name`). What cannot be imported is the server's to tell."""
    for each in names:
        module, _, name = each.partition(":")
        with suppress(Exception):
            getattr(importlib.import_module(module), name or "__name__")


def order() -> str | None:
    """Wait for the file's name, which is a line of JSON on stdin, and leave all that follows to the server."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            return None
        line += byte
    return str(json.loads(line))


def is_hidden(script: str) -> bool:
    """Tell whether something beside the file has the name of a module that is imported already, and would hide it."""
    near = {path.stem if path.suffix == ".py" else path.name for path in Path(script).parent.iterdir()}
    return not near.isdisjoint(name.partition(".")[0] for name in sys.modules)


def run(script: str) -> None:
    """Run a file as the main module."""
    if is_hidden(script):
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
if (told := order()) is not None:
    run(told)
