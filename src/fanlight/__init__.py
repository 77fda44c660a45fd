"""MCP Apps (SEP-1865) for Python.

What server authors use stands here. Names are loaded when first used, so that importing the
package costs nothing to those who need one part of it.
"""

from typing import TYPE_CHECKING

from fanlight.lazy_exports import lazily

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

__getattr__, __dir__ = lazily(
    __name__,
    {
        "fanlight.protocol.csp": ["Csp"],
        "fanlight.protocol.errors": ["BundleError", "FanlightError", "RegistrationError"],
        "fanlight.server.apps": ["Apps"],
        "fanlight.server.negotiation": ["negotiate"],
        "fanlight.server.view": ["View"],
    },
)
