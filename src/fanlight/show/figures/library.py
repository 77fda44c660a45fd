"""Chart libraries for Views, from the packages that the author of the server installed.

They are larger than one message may be for some clients, so a View reads them in parts: base64 of pieces of their gzip.
"""

import base64
import gzip
import importlib
from functools import cache
from importlib.resources import files
from typing import Any, Final

from fanlight.protocol.errors import ArgumentError, NotFoundError

URI: Final = "fanlight-library://{name}/{part}"
# The client of the SDK takes events of up to 1 MiB.
_PART_BYTES: Final = 600_000


def library(name: str) -> dict[str, Any]:
    """Return where a View finds a library: the start of the URIs of its parts, and their number. It may take long."""
    return {"uri": URI.format(name=name, part=""), "parts": len(_parts(name))}


def read_part(name: str, part: str) -> str:
    """Return one part of a library."""
    if name not in _SOURCES or not part.isdecimal() or int(part) >= len(_parts(name)):
        raise NotFoundError(f"There is no part {part} of a library {name}.")
    return _parts(name)[int(part)]


@cache
def _parts(name: str) -> tuple[str, ...]:
    packed = gzip.compress(_SOURCES[name]().encode("utf-8"), 6)
    pieces = (packed[start : start + _PART_BYTES] for start in range(0, len(packed), _PART_BYTES))
    return tuple(base64.b64encode(piece).decode("ascii") for piece in pieces)


def _plotly() -> str:
    return files("plotly").joinpath("package_data", "plotly.min.js").read_text(encoding="utf-8")


def _vega() -> str:
    try:
        module = importlib.import_module("vl_convert")
    except ImportError:
        raise ArgumentError(
            "vl-convert-python is missing, which has the JavaScript of Vega-Lite charts: pip install vl-convert-python."
        ) from None
    bundle: str = module.javascript_bundle()
    return bundle


def _bokeh() -> str:
    folder = files("bokeh").joinpath("server", "static", "js")
    names = ("bokeh.min.js", "bokeh-widgets.min.js", "bokeh-tables.min.js")
    return "\n".join(folder.joinpath(name).read_text(encoding="utf-8") for name in names)


_SOURCES: Final = {"plotly": _plotly, "vega": _vega, "bokeh": _bokeh}
