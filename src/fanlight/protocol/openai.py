"""The `openai/*` keys that ChatGPT reads beside the standard ones, with the values that the standard fields imply.

standard                                  the same for ChatGPT
tool:      ui.resourceUri                 openai/outputTemplate
           ui.visibility has "app"        openai/widgetAccessible: true
           ui.visibility lacks "model"    openai/visibility: "private"
           none                           openai/toolInvocation/invoking, openai/toolInvocation/invoked
resource:  ui.csp                         openai/widgetCSP, with connect_domains for connectDomains and so on
           ui.domain                      openai/widgetDomain, with its scheme
           ui.prefersBorder               openai/widgetPrefersBorder
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

from fanlight.protocol.csp import Csp
from fanlight.protocol.errors import RegistrationError
from fanlight.protocol.metadata import Visibility

MetadataFormat = Literal["openai"]

OUTPUT_TEMPLATE: Final = "openai/outputTemplate"
WIDGET_ACCESSIBLE: Final = "openai/widgetAccessible"
VISIBILITY: Final = "openai/visibility"
INVOKING: Final = "openai/toolInvocation/invoking"
INVOKED: Final = "openai/toolInvocation/invoked"
WIDGET_CSP: Final = "openai/widgetCSP"
WIDGET_DOMAIN: Final = "openai/widgetDomain"
WIDGET_PREFERS_BORDER: Final = "openai/widgetPrefersBorder"

IMPLIED_KEYS: Final = (OUTPUT_TEMPLATE, WIDGET_ACCESSIBLE, VISIBILITY)
"""The keys of a tool that follow from its View and visibility."""

KEYS: Final = (*IMPLIED_KEYS, INVOKING, INVOKED, WIDGET_CSP, WIDGET_DOMAIN, WIDGET_PREFERS_BORDER)

_LONGEST_STATUS = 64


def check_formats(value: object) -> tuple[MetadataFormat, ...]:
    """Return the formats of metadata to write in addition, or raise with what to write instead."""
    if not isinstance(value, list | tuple | set | frozenset):
        raise RegistrationError(f'also is {value!r}, not a list. Write also=["openai"].')
    for entry in value:
        if entry != "openai":
            raise RegistrationError(f'also has {entry!r}, expected "openai". Write also=["openai"].')
    return ("openai",) if value else ()


def check_status(value: object, field: str) -> str:
    """Return a status that ChatGPT shows while or after a tool runs, or raise with what to write instead."""
    if isinstance(value, str) and 0 < len(value) <= _LONGEST_STATUS:
        return value
    raise RegistrationError(
        f"{field} is {value!r}, expected a line of 1 to {_LONGEST_STATUS} characters. "
        'Write something like "Asking for the time".'
    )


def tool_meta(
    uri: str | None,
    visibility: Iterable[Visibility] | None = None,
    invoking: str | None = None,
    invoked: str | None = None,
) -> dict[str, Any]:
    """Build a tool's keys, with the defaults of the standard: in ChatGPT, Views may call no tool by default."""
    chosen = ("model", "app") if visibility is None else tuple(visibility)
    meta: dict[str, Any] = {} if uri is None else {OUTPUT_TEMPLATE: uri}
    meta[WIDGET_ACCESSIBLE] = "app" in chosen
    meta[VISIBILITY] = "public" if "model" in chosen else "private"
    if invoking is not None:
        meta[INVOKING] = check_status(invoking, "invoking")
    if invoked is not None:
        meta[INVOKED] = check_status(invoked, "invoked")
    return meta


def resource_meta(csp: Csp | None, domain: str | None, prefers_border: bool | None) -> dict[str, Any]:
    """Build a UI resource's keys. Without domains, write empty lists: the View may reach none."""
    declared = csp or Csp()
    domains = {"connect_domains": list(declared.connect_domains), "resource_domains": list(declared.resource_domains)}
    if declared.frame_domains:
        domains["frame_domains"] = list(declared.frame_domains)
    meta: dict[str, Any] = {WIDGET_CSP: domains}
    if domain is not None:
        meta[WIDGET_DOMAIN] = f"https://{domain}"
    if prefers_border is not None:
        meta[WIDGET_PREFERS_BORDER] = prefers_border
    return meta


def is_chatgpt(experimental: object) -> bool:
    """Return whether experimental client capabilities are those of ChatGPT, which has not always sent the extension."""
    return isinstance(experimental, Mapping) and VISIBILITY in experimental
