"""The name of a project, in the three spellings that its files need."""

import importlib.util
import keyword
import re
import sys
from dataclasses import dataclass
from typing import Final, Self

from fanlight.protocol.errors import UsageError

# https://packaging.python.org/en/latest/specifications/name-normalization/
_NAME: Final = re.compile(r"[A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9._-]*[A-Za-z0-9]", re.ASCII)
_LONGEST: Final = 100
_USED_BY_PROJECT: Final = frozenset({"build", "dist", "node_modules", "server", "test", "tests", "view"})
_DEPENDENCIES: Final = """
annotated_types anyio attr attrs cffi click colorama cryptography dateutil fanlight greenlet h11 hatchling
httpcore httpcore2 httpx httpx2 idna iniconfig jinja2 jsonschema jsonschema_specifications jwt markupsafe mcp
mcp_types multipart narwhals numpy opentelemetry opentelemetry_api orjson packaging pandas pathspec pip
pkg_resources playwright plotly pluggy py pycparser pydantic pydantic_core pyee pygments pyjwt pytest
python_dateutil python_multipart pywin32 referencing rpds rpds_py setuptools sse_starlette starlette tomlkit
tree_sitter tree_sitter_javascript trove_classifiers truststore typing_extensions typing_inspection tzdata uv
uv_build uvicorn websockets wheel
"""
"""The packages and modules that a project of any template needs to run, to be tested, or to be built."""


@dataclass(frozen=True)
class ProjectName:
    """The name of a project: as a package on PyPI, as a module of Python, and as a title for people."""

    package: str
    module: str
    title: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a name, or raise `UsageError` if PyPI or Python would refuse it."""
        if not _NAME.fullmatch(text) or len(text) > _LONGEST:
            raise UsageError(
                f"{text!r} is not a name for a project: expected at most {_LONGEST} letters, digits, '-', '_' and '.', "
                "with a letter or a digit at both ends, such as tide-tables."
            )
        module = re.sub(r"[-_.]+", "_", text).lower()
        if keyword.iskeyword(module):
            raise UsageError(
                f"{text!r} cannot be the name of a Python package: {module!r} is a keyword of Python. "
                f"Write {text}-app, for example."
            )
        if not module.isidentifier():
            raise UsageError(
                f"{text!r} cannot be the name of a Python package: {module!r} starts with a digit. "
                f"Write app-{text}, for example."
            )
        if module in _USED_BY_PROJECT:
            raise UsageError(f"{text!r} is the name of a part of every project. Write {text}-app, for example.")
        if module in _DEPENDENCIES.split():
            raise UsageError(
                f"{text!r} is the name of a Python package that the project depends on, and would hide. "
                f"Write {text}-app, for example."
            )
        if _is_installed(module):
            raise UsageError(
                f"{text!r} is the name of an installed Python package, which the project would hide. "
                f"Write {text}-app, for example."
            )
        title = re.sub(r"[-_.]+", " ", text)
        return cls(text, module, title[0].upper() + title[1:])


def _is_installed(module: str) -> bool:
    if module in sys.stdlib_module_names:
        return True
    spec = importlib.util.find_spec(module)
    return spec is not None and spec.origin is not None  # a folder without code has no origin
