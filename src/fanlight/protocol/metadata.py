"""The `_meta` of tools and UI resources: validate, build and remove it."""

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, get_args

from fanlight.protocol.csp import CSP_LISTS, Csp
from fanlight.protocol.errors import RegistrationError
from fanlight.protocol.extension import URI_SCHEME

UI_KEY: Final = "ui"
FLAT_URI_KEY: Final = "ui/resourceUri"  # deprecated, but the only key that some hosts read (DSC-07)
UI_KEYS: Final = (UI_KEY, FLAT_URI_KEY)

Visibility = Literal["model", "app"]
Permission = Literal["camera", "microphone", "geolocation", "clipboard-write"]

PERMISSION_KEYS: Final[Mapping[Permission, str]] = {
    "camera": "camera",
    "microphone": "microphone",
    "geolocation": "geolocation",
    "clipboard-write": "clipboardWrite",
}
"""The keys of `_meta.ui.permissions`, by the names that browsers have for them."""
_URI = re.compile(r"ui://(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+")


def check_uri(value: object) -> str:
    """Return `value` if it is a `ui://` URI (RES-01), or raise with what to write instead."""
    if isinstance(value, str) and _URI.fullmatch(value):
        return value
    if isinstance(value, str) and value.startswith(URI_SCHEME):
        raise RegistrationError(
            f"{value!r} is not a URI: it is empty after ui:// or contains a character that URIs do not allow. "
            'Write something like "ui://clock/view", with other characters percent-encoded.'
        )
    raise RegistrationError(f'The URI of a View is {value!r}, not a ui:// URI. Write "ui://clock/view".')


def check_visibility(value: object) -> tuple[Visibility, ...] | None:
    """Return a valid visibility, or raise with what to write instead. None means model and app (VIS-01)."""
    if value is None:
        return None
    chosen = _checked_names(value, get_args(Visibility), "visibility")
    if not chosen:
        raise RegistrationError(
            'visibility is empty, so nobody could call the tool. Write visibility=["app"] for a tool that '
            'only the View calls, ["model"] for one that only the model calls, or leave it out for both.'
        )
    return tuple(dict.fromkeys(chosen))


def check_permissions(value: object) -> tuple[Permission, ...]:
    """Return the permissions that a View requests, or raise with what to write instead."""
    if value is None:
        return ()
    return tuple(dict.fromkeys(_checked_names(value, get_args(Permission), "permissions")))


def _checked_names(value: object, known: tuple[str, ...], option: str) -> tuple[Any, ...]:
    """Return the entries of a list of known names, or raise with what to write instead."""
    expected = f"expected a list with any of {', '.join(known)}"
    if not isinstance(value, list | tuple | set | frozenset):
        raise RegistrationError(f"{option} is {value!r}, {expected}.{_suggestion(value, known, option)}")
    for entry in value:
        if entry not in known:
            raise RegistrationError(f"{option} has {entry!r}, {expected}.{_suggestion(entry, known, option)}")
    return tuple(value)


def _suggestion(value: object, known: tuple[str, ...], option: str) -> str:
    near = difflib.get_close_matches(str(value).lower(), known, n=1)
    return f' Write {option}=["{near[0]}"].' if near else ""


def tool_meta(uri: str | None, visibility: Iterable[Visibility] | None = None) -> dict[str, Any]:
    """Build a tool's `_meta`, with the deprecated flat key in addition."""
    ui: dict[str, Any] = {}
    if uri is not None:
        ui["resourceUri"] = uri
    if visibility is not None:
        ui["visibility"] = list(visibility)
    meta: dict[str, Any] = {UI_KEY: ui} if ui else {}
    if uri is not None:
        meta[FLAT_URI_KEY] = uri
    return meta


def resource_meta(
    csp: Csp | None, permissions: Iterable[Permission], domain: str | None, prefers_border: bool | None
) -> dict[str, Any]:
    """Build a UI resource's `_meta`, the same for the list entry and the content item (D-RES-01)."""
    ui: dict[str, Any] = {}
    if csp is not None and (wire := csp.wire()):
        ui["csp"] = wire
    if keys := [PERMISSION_KEYS[name] for name in permissions]:
        ui["permissions"] = {key: {} for key in keys}
    if domain is not None:
        ui["domain"] = domain
    if prefers_border is not None:
        ui["prefersBorder"] = prefers_border
    return {UI_KEY: ui} if ui else {}


def read_resource_meta(ui: object, uri: str) -> dict[str, Any]:
    """Validate a UI resource's `_meta.ui` and return it as keyword arguments of `View`."""
    if not isinstance(ui, Mapping):
        raise RegistrationError(
            f'The _meta.ui of {uri} is {ui!r}, expected an object such as {{"prefersBorder": true}}.'
        )
    domains = ui.get("csp", {})
    asked = ui.get("permissions", {})
    if not isinstance(domains, Mapping) or not isinstance(asked, Mapping):
        raise RegistrationError(f"The _meta.ui.csp and _meta.ui.permissions of {uri} must be objects.")
    names: dict[str, str] = {key: name for name, key in PERMISSION_KEYS.items()}
    return {
        "csp": Csp(**{CSP_LISTS[key]: value for key, value in domains.items() if key in CSP_LISTS})
        if domains
        else None,
        "permissions": check_permissions([names.get(key, key) for key in asked]),
        "domain": ui.get("domain"),
        "prefers_border": ui.get("prefersBorder"),
    }


def without_ui(item: dict[str, Any], keys: tuple[str, ...] = UI_KEYS) -> dict[str, Any]:
    """Return a tool or resource without its UI metadata, which is under `keys`; the same object if it has none."""
    meta = item.get("_meta")
    if not isinstance(meta, Mapping) or meta.keys().isdisjoint(keys):
        return item
    rest = {key: value for key, value in meta.items() if key not in keys}
    plain = {key: value for key, value in item.items() if key != "_meta"}
    return {**plain, "_meta": rest} if rest else plain
