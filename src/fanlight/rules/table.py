"""The table of rules, collected from its sections.

Ids with two or three letters belong to statements of the standard (`D-` for its draft). `LNT` (correct MCP), `QUA` (how
a View behaves), `REV` (the security review) and `ADV` (differences between hosts, as observed in 2026) are Fanlight's
own. Aliases are the ids of other catalogues, so that results can be compared.
"""

from typing import Final

from fanlight.rules import (
    app_tools,
    behaviour,
    display,
    lifecycle,
    negotiation,
    requests,
    resources,
    review,
    sandbox,
    server,
    tools,
)
from fanlight.rules.rule import Rule

_SECTIONS: Final = (
    resources.section,
    tools.section,
    negotiation.section,
    server.section,
    sandbox.section,
    lifecycle.section,
    display.section,
    requests.section,
    app_tools.section,
    behaviour.section,
    review.section,
)

RULES: Final[tuple[Rule, ...]] = tuple(rule for section in _SECTIONS for rule in section.rules)
"""All rules, in the order of the reference page."""
BY_NAME: Final[dict[str, Rule]] = {name: rule for rule in RULES for name in rule.names}
"""The rules by id and by alias."""
HOST_RULES: Final[tuple[Rule, ...]] = tuple(rule for rule in RULES if rule.probe is not None)
"""The rules that `fanlight probe` reports on."""
