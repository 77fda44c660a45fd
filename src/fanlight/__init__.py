"""MCP Apps (SEP-1865) for Python: the names that authors of servers use.

Each name is imported on first use, so `import fanlight` loads neither the SDK nor any other part.
"""

from typing import TYPE_CHECKING

from fanlight.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from fanlight.protocol.csp import Csp as Csp
    from fanlight.protocol.errors import BundleError as BundleError
    from fanlight.protocol.errors import FanlightError as FanlightError
    from fanlight.protocol.errors import RegistrationError as RegistrationError
    from fanlight.server.apps import Apps as Apps
    from fanlight.server.negotiation import negotiate as negotiate
    from fanlight.server.view import View as View

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "protocol.csp": ["Csp"],
        "protocol.errors": ["BundleError", "FanlightError", "RegistrationError"],
        "server.apps": ["Apps"],
        "server.negotiation": ["negotiate"],
        "server.view": ["View"],
    },
)
