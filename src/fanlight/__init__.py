"""MCP Apps (SEP-1865) for Python.

What server authors use stands here. Names are loaded when first used, so that importing the
package costs nothing to those who need one part of it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fanlight.protocol.csp import Csp as Csp
    from fanlight.protocol.errors import BundleError as BundleError
    from fanlight.protocol.errors import FanlightError as FanlightError
    from fanlight.protocol.errors import RegistrationError as RegistrationError
    from fanlight.server.apps import Apps as Apps
    from fanlight.server.negotiation import negotiate as negotiate
    from fanlight.server.view import View as View

__version__ = "0.1.0"

__all__ = ["Apps", "BundleError", "Csp", "FanlightError", "RegistrationError", "View", "negotiate"]

_HOMES = {
    "Apps": "fanlight.server.apps",
    "BundleError": "fanlight.protocol.errors",
    "Csp": "fanlight.protocol.csp",
    "FanlightError": "fanlight.protocol.errors",
    "RegistrationError": "fanlight.protocol.errors",
    "View": "fanlight.server.view",
    "negotiate": "fanlight.server.negotiation",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fanlight' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
