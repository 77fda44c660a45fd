"""Policies: pure functions that decide on the requests of Views, without I/O and without state.

A decision is `Allow()`, `Deny(reason)`, with the reason for the View, or `Ask(question)`, with a question for the user.
Give `Policy` rules as data, or subclass it and override methods. Each method gets the `App` that makes the request.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal, Self, get_args

from fanlight.host.consent.labels import app_name, tool_label
from fanlight.host.errors import PolicyError
from fanlight.protocol.csp import Csp, check_source, host_covers, host_of, is_declared
from fanlight.protocol.errors import RegistrationError
from fanlight.protocol.headers import CspProfile
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.protocol.metadata import Permission, check_permissions
from fanlight.protocol.origin import Origin


@dataclass(frozen=True)
class Allow:
    """Allow the request."""


@dataclass(frozen=True)
class Deny:
    """Refuse the request."""

    reason: str
    """Why, in one sentence. The View gets it as the error message."""


@dataclass(frozen=True)
class Ask:
    """Let the user decide."""

    question: str
    """What would happen, in one sentence that needs no context."""
    warning: str = ""
    """What may go wrong, in one sentence, or nothing."""


Decision = Allow | Deny | Ask
"""What a policy decides about one request."""

Choice = Literal["allow", "ask", "deny"]
ToolChoice = Literal["allow", "ask", "deny", "read-only"]


@dataclass(frozen=True)
class App:
    """The app that a decision is about: one View of one server."""

    view: str
    """The id of the View."""
    server: str
    """The server, by the name that `Host` has for it."""
    uri: str
    """The `ui://` URI of the View."""
    tool: str
    """The tool whose call opened the View."""
    conversation: str | None = None
    """The conversation that the View belongs to, or None."""
    user: str | None = None
    """The user that the View belongs to, or None in a program with one user."""
    sha256: str | None = None
    """The digest of the document, where the decision is about showing it; otherwise None."""
    title: str | None = None
    """The title that the server gives the tool whose call opened the View, or None."""

    @property
    def name(self) -> str:
        """A name for people: `title (server)`, or `tool (server)` for a tool without a title.

        It has no invisible characters, and a long title is cut, so that it cannot hide the server's name.
        """
        return app_name(self.server, self.title or self.tool)


@dataclass(frozen=True)
class Rules:
    """The rules of a policy, for all servers or for one.

    A choice is "allow", "ask" (the user decides) or "deny". For tools there is also "read-only": tools that are
    annotated as read-only are allowed, and the user is asked about others.
    """

    tools: ToolChoice = "read-only"
    """Calls of the server's tools by a View."""
    app_tools: ToolChoice = "read-only"
    """Calls of a View's tools by the model."""
    tool: Mapping[str, Choice] = field(default_factory=dict)
    """Choices for single tools, by name."""
    links: Choice = "ask"
    """Opening web links."""
    downloads: Choice = "ask"
    """Saving files."""
    messages: Choice = "ask"
    """Adding messages to the conversation in the user's name."""
    sampling: Choice = "ask"
    """Requests of a View to the model."""
    model_context: Choice = "allow"
    """What a View wants the model to know."""
    widget_state: Choice = "deny"
    """Whether the model gets what a View for ChatGPT keeps with `setWidgetState`. It is kept in any case."""
    permissions: tuple[Permission, ...] = ()
    """The permissions that are granted to Views that ask for them."""
    profile: CspProfile = "strict"
    """The CSP of Views: "strict" follows the standard, "compat" also allows `eval`, `blob:` and `data:`."""
    allow_domains: tuple[str, ...] | None = None
    """If given, Views reach no other domains, whatever they declare."""
    block_domains: tuple[str, ...] = ()
    """Domains that Views cannot reach, even if they declare them."""
    external_domains: tuple[str, ...] = ()
    """Origins of web pages that may be framed as a View (the external URLs of mcp-ui)."""
    allow_documents: tuple[str, ...] | None = None
    """SHA-256 digests of documents. If given, no other documents are shown."""
    block_documents: tuple[str, ...] = ()
    """SHA-256 digests of documents that are not shown."""
    pin_documents: bool = False
    """Whether the user has to approve a document that has changed since it was first shown."""


class Policy:
    """Decides what Views may do. Give it rules as data, or subclass it and override methods.

    Without rules, harmless requests are allowed, the user is asked about others, and permissions are denied.

    Args:
        rules: The fields of `Rules` by name, and under "servers" the same for single servers:
            `Policy({"links": "allow", "servers": {"maps": {"permissions": ["geolocation"]}}})`.
    """

    def __init__(self, rules: Mapping[str, Any] | None = None) -> None:
        shared = dict(rules or {})
        servers = shared.pop("servers", {})
        if not isinstance(servers, Mapping):
            raise PolicyError(f"servers is {servers!r}, expected a table of rules by server name.")
        self._rules = _rules(shared, Rules(), "")
        self._servers = {name: _rules(own, self._rules, f"servers.{name}.") for name, own in servers.items()}

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Read the rules from a TOML file."""
        try:
            rules = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise PolicyError(f"{path} cannot be read: {error.strerror}.") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise PolicyError(f"{path} is not a TOML file: {error}.") from None
        try:
            return cls(rules)
        except PolicyError as error:
            raise PolicyError(f"{path}: {error}") from None

    def rules(self, app: App) -> Rules:
        """Return the rules for an app."""
        return self._servers.get(app.server, self._rules)

    # What a View does

    def tool_call(self, app: App, tool: JSONObject, arguments: JSONObject) -> Decision:
        """Decide on a View's call of a tool of its server. `tool` is the entry of `tools/list`."""
        rules = self.rules(app)
        name = str(tool.get("name"))
        question = f"{app.name} wants to run {tool_label(tool)}."
        return _for_tool(rules.tool.get(name, rules.tools), tool.get("annotations"), question, name)

    def link(self, app: App, url: str) -> Decision:
        """Decide on opening a web link. Links with other schemes are refused before."""
        return _by_choice(self.rules(app).links, f"{app.name} wants to open {url}", "open links")

    def download(self, app: App, names: Sequence[str]) -> Decision:
        """Decide on saving files. The names are sanitized."""
        return _by_choice(self.rules(app).downloads, f"{app.name} wants to save {', '.join(names)}.", "save files")

    def message(self, app: App, content: Sequence[JSONObject]) -> Decision:
        """Decide on a message that a View wants to add to the conversation in the user's name."""
        return _by_choice(
            self.rules(app).messages, f"{app.name} wants to send a message in your name.", "send messages"
        )

    def model_context(self, app: App, update: JSONObject) -> Decision:
        """Decide on what a View wants the model to know from the next turn on."""
        return _by_choice(
            self.rules(app).model_context, f"{app.name} wants to tell the model something.", "tell the model anything"
        )

    def widget_state(self, app: App, state: Any) -> Decision:
        """Decide whether the model gets the state that a View for ChatGPT keeps. The View does not see a refusal."""
        return _by_choice(
            self.rules(app).widget_state, f"{app.name} wants to tell the model its state.", "tell the model their state"
        )

    def sampling(self, app: App, params: JSONObject) -> Decision:
        """Decide on a sampling request of a View."""
        return _by_choice(self.rules(app).sampling, f"{app.name} wants to ask the model.", "ask the model")

    # What the model does with a View

    def app_tool(self, app: App, tool: JSONObject, arguments: JSONObject) -> Decision:
        """Decide on the model's call of a tool that the View offers. Its annotations are claims of the View."""
        rules = self.rules(app)
        name = str(tool.get("name"))
        question = f"The model wants to run {tool_label(tool)} inside {app.name}."
        return _for_tool(rules.tool.get(name, rules.app_tools), tool.get("annotations"), question, name)

    # What a document gets

    def document(self, app: App, sha256: str, pinned: str | None) -> Decision:
        """Decide whether a document is shown. `pinned` is the digest that was shown or approved last, or None."""
        rules = self.rules(app)
        if sha256 in rules.block_documents:
            return Deny("This document is blocked here.")
        if rules.allow_documents is not None and sha256 not in rules.allow_documents:
            return Deny("This document is not among those that are allowed here.")
        if rules.pin_documents and pinned is not None and pinned != sha256:
            return Ask(f"The document of {app.name} has changed since you last saw it.")
        return Allow()

    def domain(self, app: App, source: str) -> Decision:
        """Decide on one domain that a View declares."""
        rules = self.rules(app)
        if any(_overlap(source, blocked) for blocked in rules.block_domains):
            return Deny(f"{source} is blocked here.")
        if rules.allow_domains is not None and not any(_within(source, allowed) for allowed in rules.allow_domains):
            return Deny(f"{source} is not among the domains that are allowed here.")
        return Allow()

    def external(self, app: App, url: str, source: str) -> Decision:
        """Decide whether a web page is framed as the View. `source` is its origin, which `domain` has to allow too."""
        if is_declared(Origin.of(source), self.rules(app).external_domains):
            return self.domain(app, source)
        return Deny(f"The page {url} is from {source}, which is not among the external_domains that are allowed here.")

    def permission(self, app: App, permission: Permission) -> Decision:
        """Decide on a permission that the View asks for."""
        if permission in self.rules(app).permissions:
            return Allow()
        return Deny(f"{permission} is not granted here.")

    def profile(self, app: App) -> CspProfile:
        """Choose the profile of the View's Content-Security-Policy."""
        return self.rules(app).profile


def _by_choice(choice: str, question: str, what: str) -> Decision:
    if choice == "allow":
        return Allow()
    return Ask(question) if choice == "ask" else Deny(f"Views may not {what} here.")


def _for_tool(choice: str, annotations: object, question: str, name: str) -> Decision:
    """Decide on a tool call. A tool without annotations is assumed to change something (D-SEC-02, D-SEC-07)."""
    warning = ""
    if choice == "read-only":
        hints = annotations if isinstance(annotations, Mapping) else {}
        choice = "allow" if hints.get("readOnlyHint") is True else "ask"
        if hints.get("destructiveHint") is True:
            warning = "This may delete or overwrite something."
    if choice == "allow":
        return Allow()
    return Ask(question, warning) if choice == "ask" else Deny(f"The tool {name!r} may not be called here.")


# Domains


def _within(source: str, allowed: str) -> bool:
    """Return whether the hosts of a source are among those of another, whatever scheme and port they name."""
    return host_covers(host_of(allowed), host_of(source))


def _overlap(source: str, blocked: str) -> bool:
    """Return whether two sources have a host in common."""
    return _within(source, blocked) or _within(blocked, source)


def allowed_domains(policy: Policy, app: App, declared: Csp | None) -> tuple[Csp | None, list[str]]:
    """Return the declared domains that a policy allows, and those that it does not."""
    if declared is None:
        return None, []
    denied = [source for source in reachable(declared) if not isinstance(policy.domain(app, source), Allow)]
    kept = {
        entry.name: [source for source in getattr(declared, entry.name) if source not in denied]
        for entry in fields(declared)
    }
    return Csp(**kept), denied


def reachable(csp: Csp | None) -> tuple[str, ...]:
    """Return all domains of a declaration, each once."""
    if csp is None:
        return ()
    return tuple(dict.fromkeys(source for entry in fields(csp) for source in getattr(csp, entry.name)))


# Rules as data

_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("tools", "app_tools"), get_args(ToolChoice)),
    **dict.fromkeys(("links", "downloads", "messages", "sampling", "model_context", "widget_state"), get_args(Choice)),
    "profile": get_args(CspProfile),
}


def _rules(data: object, base: Rules, where: str) -> Rules:
    """Validate rules, with those of `base` for what they leave out. `where` is the prefix of error messages."""
    if not isinstance(data, Mapping):
        raise PolicyError(f"{where.rstrip('.')} is {data!r}, expected a table of rules.")
    known = [entry.name for entry in fields(Rules)]
    values = {name: getattr(base, name) for name in known}
    for name, value in data.items():
        if name not in known:
            raise PolicyError(f"{where}{name} is not a rule. The rules are: {', '.join(known)}, and servers.")
        values[name] = _checked(name, value, where + name)
    return Rules(**values)


def _checked(name: str, value: object, where: str) -> object:
    if name in _CHOICES:
        return _one_of(value, _CHOICES[name], where)
    if name == "tool":
        if not isinstance(value, Mapping):
            raise PolicyError(f"{where} is {value!r}, expected a table of tool names.")
        return {tool: _one_of(choice, get_args(Choice), f"{where}.{tool}") for tool, choice in value.items()}
    if name == "pin_documents":
        if not isinstance(value, bool):
            raise PolicyError(f"{where} is {value!r}, expected true or false.")
        return value
    if not isinstance(value, list | tuple) or not all(isinstance(entry, str) for entry in value):
        raise PolicyError(f"{where} is {value!r}, expected a list of strings.")
    try:
        if name == "permissions":
            return check_permissions(value)
        if name.endswith("_domains"):
            return tuple(check_source(entry, f"{where}[{i}]") for i, entry in enumerate(value))
    except RegistrationError as error:
        raise PolicyError(str(error)) from None
    for i, digest in enumerate(value):
        if len(digest) != 64 or set(digest) - set("0123456789abcdef"):
            raise PolicyError(f"{where}[{i}] is {digest!r}, expected a SHA-256 digest: 64 characters of 0-9 and a-f.")
    return tuple(value)


def _one_of(value: object, choices: tuple[str, ...], where: str) -> str:
    if isinstance(value, str) and value in choices:
        return value
    raise PolicyError(f"{where} is {value!r}, expected one of: {', '.join(choices)}.")
