"""A scenario model with sliders: the View sends assumptions to an app-only tool, and Python computes what follows."""

import math
from typing import Annotated

from mcp.server import MCPServer
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, Field

from fanlight import Apps

server = MCPServer("scenario")
apps = Apps(server)

READ_ONLY = ToolAnnotations(read_only_hint=True)
YEARS = 25
KWH_PER_KWP = 950
"""What one kilowatt of panels yields in a year in Central Europe."""
FEED_IN = 0.08
"""What the grid pays for a kilowatt-hour, in euros."""
AGEING, UPKEEP = 0.005, 0.01


class Assumptions(BaseModel):
    """A solar roof. The titles, ranges and units of these fields are the sliders of the View."""

    size: Annotated[float, Field(title="Panels", ge=2, le=15, json_schema_extra={"unit": "kWp", "step": 0.5})] = 6
    battery: Annotated[float, Field(title="Battery", ge=0, le=15, json_schema_extra={"unit": "kWh", "step": 1})] = 5
    use: Annotated[
        float, Field(title="Use in a year", ge=1500, le=9000, json_schema_extra={"unit": "kWh", "step": 250})
    ] = 4000
    price: Annotated[
        float, Field(title="Price of electricity", ge=15, le=60, json_schema_extra={"unit": "ct/kWh", "step": 1})
    ] = 32
    rise: Annotated[
        float, Field(title="Its rise in a year", ge=0, le=6, json_schema_extra={"unit": "%", "step": 0.5})
    ] = 2


class Outcome(BaseModel):
    cost: float
    balance: list[float]
    """What the roof has earned after each year, less what it cost."""
    pays_off: float | None
    independence: float
    text: str


class Preset(BaseModel):
    name: str
    assumptions: Assumptions


class Scenario(BaseModel):
    assumptions: Assumptions
    outcome: Outcome
    presets: list[Preset]
    sliders: dict[str, dict[str, str | float]]


PRESETS = [
    Preset(name="Flat", assumptions=Assumptions(size=2.5, battery=0, use=2500)),
    Preset(name="House", assumptions=Assumptions()),
    Preset(name="House and car", assumptions=Assumptions(size=12, battery=10, use=8500)),
]


def compute(given: Assumptions) -> Outcome:
    """Follow a roof through the years."""
    made = given.size * KWH_PER_KWP
    direct = 0.55 * given.use * (1 - math.exp(-0.7 * made / given.use))
    stored = min(given.battery * 220, 0.8 * (made - direct), 0.8 * (given.use - direct))
    cost = 1500 + 1300 * given.size + (1000 + 550 * given.battery if given.battery else 0)
    balance = [-cost]
    for year in range(YEARS):
        own = (direct + stored) * given.price / 100 * (1 + given.rise / 100) ** year
        sold = (made - direct - stored) * FEED_IN
        balance.append(balance[-1] + (own + sold) * (1 - AGEING) ** year - UPKEEP * cost)
    return Outcome(
        cost=round(cost),
        balance=[round(amount) for amount in balance],
        pays_off=(pays_off := crossing(balance)),
        independence=round(100 * (direct + stored) / given.use),
        text=describe(given, cost, balance[-1], pays_off),
    )


def crossing(balance: list[float]) -> float | None:
    """Return after how many years the balance is no longer negative."""
    for year in range(1, len(balance)):
        if balance[year] >= 0 > balance[year - 1]:
            return round(year - balance[year] / (balance[year] - balance[year - 1]), 1)
    return None


def describe(given: Assumptions, cost: float, end: float, pays_off: float | None) -> str:
    when = f"pays off after {pays_off:g} years" if pays_off is not None else f"does not pay off within {YEARS} years"
    return (
        f"A solar roof of {given.size:g} kWp with a battery of {given.battery:g} kWh costs {cost:,.0f} euros and "
        f"{when}. After {YEARS} years the balance is {end:+,.0f} euros. Assumed: {given.use:,.0f} kWh used in a year, "
        f"at {given.price:g} ct/kWh, rising by {given.rise:g} % a year."
    )


def result_of(given: Assumptions) -> CallToolResult:
    outcome = compute(given)
    keys = {"title": "title", "minimum": "min", "maximum": "max", "unit": "unit", "step": "step"}
    fields = Assumptions.model_json_schema()["properties"]
    sliders = {name: {short: field[key] for key, short in keys.items()} for name, field in fields.items()}
    scenario = Scenario(assumptions=given, outcome=outcome, presets=PRESETS, sliders=sliders)
    return CallToolResult(
        content=[TextContent(type="text", text=outcome.text)], structured_content=scenario.model_dump()
    )


@apps.tool(view="scenario.html", annotations=READ_ONLY)
def show_scenario(assumptions: Assumptions | None = None) -> Annotated[CallToolResult, Scenario]:
    "Show the user when a solar roof pays off, with sliders for the assumptions. Leave out what you do not know."
    return result_of(assumptions or Assumptions())


@apps.tool(visibility=["app"], annotations=READ_ONLY)
def run_model(assumptions: Assumptions) -> Annotated[CallToolResult, Scenario]:
    "Compute a scenario. The View calls this while a slider moves."
    return result_of(assumptions)


if __name__ == "__main__":
    server.run()
