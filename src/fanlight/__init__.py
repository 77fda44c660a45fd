"""MCP Apps (SEP-1865) for Python: the names that authors of servers use.

Each name is imported on first use, so `import fanlight` loads neither the SDK nor any other part.
"""

from typing import TYPE_CHECKING

from fanlight.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from fanlight.protocol.claude import claude_domain as claude_domain
    from fanlight.protocol.csp import Csp as Csp
    from fanlight.protocol.errors import ArgumentError as ArgumentError
    from fanlight.protocol.errors import BundleError as BundleError
    from fanlight.protocol.errors import FanlightError as FanlightError
    from fanlight.protocol.errors import LocalError as LocalError
    from fanlight.protocol.errors import NotFoundError as NotFoundError
    from fanlight.protocol.errors import RefusedError as RefusedError
    from fanlight.protocol.errors import RegistrationError as RegistrationError
    from fanlight.protocol.errors import RemoteError as RemoteError
    from fanlight.protocol.errors import StateError as StateError
    from fanlight.server.apps import Apps as Apps
    from fanlight.server.caller import caller_key as caller_key
    from fanlight.server.negotiation import negotiate as negotiate
    from fanlight.server.view import View as View
    from fanlight.server.view import ViewOptions as ViewOptions

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "protocol.claude": ["claude_domain"],
        "protocol.csp": ["Csp"],
        "protocol.errors": [
            "ArgumentError",
            "BundleError",
            "FanlightError",
            "LocalError",
            "NotFoundError",
            "RefusedError",
            "RegistrationError",
            "RemoteError",
            "StateError",
        ],
        "server.apps": ["Apps"],
        "server.caller": ["caller_key"],
        "server.negotiation": ["negotiate"],
        "server.view": ["View", "ViewOptions"],
    },
)
