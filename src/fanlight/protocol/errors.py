"""All errors that Fanlight raises for its callers, as one tree.

The first level names the cause: the calling program (`LocalError`), the server, View or host at the other end
(`RemoteError`), or a user, policy or handler that refused (`RefusedError`). Errors that belong to one package are
defined there. A test compares this drawing with the classes.

    FanlightError
    ├── LocalError                         your program, its configuration or its command line is wrong
    │   ├── ArgumentError                  an argument has the wrong type or value
    │   ├── BrowserMissingError            no browser can be started
    │   ├── BusError                       the bus between workers cannot be used
    │   ├── ConfigError                    the configuration of a server is invalid
    │   ├── InstallError                   the configuration of a host cannot be changed
    │   │   └── DocumentError              its file cannot be edited as text
    │   ├── JavaScriptError                a script of a View cannot be read
    │   ├── LocalProtocolError             the host's code breaks an order of the standard
    │   ├── ModelError                     `fanlight chat` cannot use a model
    │   ├── NotFoundError                  there is nothing of this name
    │   │   ├── UnknownServerError
    │   │   ├── UnknownToolError
    │   │   └── UnknownViewError
    │   ├── PolicyError                    the rules of a policy are invalid
    │   ├── ProjectExistsError             `fanlight new` would overwrite files
    │   ├── RecordingError                 a file is not a recording of the inspector
    │   ├── RegistrationError              a tool or a View cannot be served as it is declared
    │   │   ├── BundleError                the files of a View cannot be bundled into one document
    │   │   └── MCPUIServerError           a resource for mcp-ui cannot be created
    │   │       ├── EncodingError
    │   │       ├── InvalidContentError
    │   │       └── InvalidURIError
    │   ├── ServerStartError               the command of a server cannot be started
    │   ├── StateError                     a method is called too early, too late or twice
    │   ├── StoreError                     a store cannot be used
    │   └── UsageError                     the arguments of a command are invalid
    ├── RemoteError                        the server, the View or the host at the other end failed
    │   ├── BadRequestError                the inspector's page sent an invalid request
    │   ├── CallCancelledError             a call did not finish; its View gets a cancellation
    │   │   ├── CallTimeoutError
    │   │   └── ConnectionLostError        while the call ran
    │   │       └── NotConnectedError      before it was sent
    │   │           ├── CredentialsRejectedError  the server rejected the credentials
    │   │           └── SignInRequiredError  the user has to sign in
    │   ├── ConnectError                   `fanlight check` cannot connect to a server
    │   ├── HandshakeError                 a View does not finish the handshake with `fanlight check`
    │   ├── HostError                      the host answered a scripted View with a JSON-RPC error
    │   ├── NavigationError                a View reloaded itself, or left for another page
    │   ├── OtherVersionError              a server does not support the version that `fanlight check` tries
    │   ├── ReportError                    a report was not written by a probe
    │   ├── RequestError                   a request to or from a View failed or was refused
    │   │   ├── TooManyRequestsError       a View behind a relay exceeds a limit
    │   │   └── WorkerLostError            another worker of the host did not answer
    │   ├── ServerError                    the server answered with a JSON-RPC error
    │   │   └── InvalidResponseError       the server's response is not valid MCP
    │   ├── StageError                     a View could not be shown in a browser
    │   │   └── UnsettledError             it was shown, and goes on changing
    │   ├── SuiteError                     a conformance suite asks for what cannot be served
    │   ├── ViewError                      a View cannot be shown
    │   │   └── ViewUnavailableError       a later attempt may succeed
    │   └── ViewHangsError                 a page no longer responds
    └── RefusedError                       the user, a policy or a handler refused
        ├── DeclinedError                  for your handlers to raise
        ├── ElsewhereError                 another page shows the View
        ├── FieldError                     for the function of a form to raise
        ├── InputRefusedError              a handler gave no input to a server that needs some
        └── ViewRefusedError               a page may not open a View

A message says what was expected, what was received, and what to write instead.
"""

from pathlib import Path


def sentence(text: object, longest: int | None = None) -> str:
    """Return a text of somebody else as a sentence on one line, with one mark at its end; a longer one is cut."""
    line = " ".join(str(text).split())
    if longest is not None and len(line) > longest:
        return f"{line[: longest - 3].rstrip()}..."
    return line if line.endswith(("?", "!", "...")) else f"{line.rstrip('.')}."


class FanlightError(Exception):
    """The base class of all errors that Fanlight raises on purpose."""


class LocalError(FanlightError):
    """The program that uses Fanlight, its configuration or its command line is wrong."""


class RemoteError(FanlightError):
    """The server, the View or the host at the other end failed."""


class RefusedError(FanlightError):
    """The user, a policy or a handler refused."""


class ArgumentError(LocalError, TypeError, ValueError):
    """An argument has the wrong type or value. Also a TypeError and a ValueError."""


class StateError(LocalError, RuntimeError):
    """A method was called too early, too late or twice. Also a RuntimeError."""


class NotFoundError(LocalError, KeyError):
    """There is no server, tool or View of this name. Also a KeyError."""

    def __str__(self) -> str:
        return str(self.args[0])  # a KeyError would quote its message


class UsageError(LocalError):
    """The arguments of a command are invalid. The message says what to write instead."""


class RegistrationError(LocalError, ValueError):
    """A tool, a View or one of its options is invalid. Raised where it is registered. Also a ValueError."""


class BundleError(RegistrationError):
    """The files of a View cannot be bundled into one document."""

    def __init__(self, path: Path | str, line: int | None, message: str) -> None:
        self.path = path
        """The file that the error is in."""
        self.line = line
        """The line in that file, or None."""
        where = f"{path}:{line}" if line is not None else str(path)
        super().__init__(f"{where}: {message}")


class LocalProtocolError(LocalError):
    """The host's code asked for what the standard does not allow, such as a result before its input."""
