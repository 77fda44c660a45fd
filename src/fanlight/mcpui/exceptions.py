"""The errors of `fanlight.mcpui`.

    RegistrationError
    └── MCPUIServerError
        ├── InvalidURIError
        ├── InvalidContentError
        └── EncodingError

All of them are raised by `create_ui_resource` and the adapters.
"""

from fanlight.protocol.errors import RegistrationError


class MCPUIServerError(RegistrationError):
    """The base class: a UI resource cannot be created from these options. Also a `RegistrationError`."""


class InvalidURIError(MCPUIServerError):
    """The URI is not a valid `ui://` URI."""


class InvalidContentError(MCPUIServerError):
    """The content or an option is invalid."""


class EncodingError(MCPUIServerError):
    """The content cannot be encoded as UTF-8."""
