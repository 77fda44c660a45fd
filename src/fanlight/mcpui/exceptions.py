"""What goes wrong when a UI resource is made.

RegistrationError
└── MCPUIServerError
├── InvalidURIError
├── InvalidContentError
└── EncodingError
"""

from fanlight.protocol.errors import RegistrationError


class MCPUIServerError(RegistrationError):
    """A UI resource cannot be made as it was asked for."""


class InvalidURIError(MCPUIServerError):
    """The URI is not a `ui://` URI."""


class InvalidContentError(MCPUIServerError):
    """The content or an option is not one that there is."""


class EncodingError(MCPUIServerError):
    """The content cannot be written in UTF-8."""
