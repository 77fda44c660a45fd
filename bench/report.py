"""Reports: the tables that a benchmark prints, and its figures beside their goals."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from bench.samples import Estimate

Verdict = Literal["met", "near", "over"]


@dataclass(frozen=True)
class Options:
    """The options of the user. Without `rounds`, a benchmark uses its own default."""

    rounds: int | None = None
    quick: bool = False

    def choose(self, usual: int, quick: int) -> int:
        return self.rounds or (quick if self.quick else usual)


@dataclass(frozen=True)
class Goal:
    """A figure that should not exceed its limit; `doubt` is its margin of error."""

    what: str
    figure: float
    limit: float
    doubt: float = 0.0
    unit: str = "x"

    @classmethod
    def of(cls, what: str, ratio: Estimate, limit: float) -> "Goal":
        return cls(what, ratio.figure, limit, ratio.doubt)

    @property
    def verdict(self) -> Verdict:
        if self.figure <= self.limit:
            return "met"
        return "near" if self.figure - self.doubt <= self.limit else "over"

    @property
    def excess(self) -> float:
        return self.figure / self.limit


@dataclass
class Table:
    title: str
    headings: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [self.headings, *self.rows]
        widths = [max(len(line[column]) for line in lines) for column in range(len(self.headings))]
        rule = "  ".join("-" * width for width in widths)
        first, *rest = (_aligned(line, widths) for line in lines)
        return "\n".join([self.title, "", first, rule, *rest])


@dataclass
class Report:
    """The results of one benchmark. `figures` has all of them, for programs."""

    tables: list[Table] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        parts = [str(table) for table in self.tables]
        parts += [f"note: {note}" for note in self.notes]
        return "\n\n".join(parts)

    def to_json(self) -> dict[str, Any]:
        goals = [{**asdict(goal), "verdict": goal.verdict} for goal in self.goals]
        return {"figures": self.figures, "goals": goals, "notes": self.notes}


def goals_table(goals: Iterable[Goal]) -> Table:
    table = Table("Goals", ["figure", "measured", "", "goal", ""])
    for goal in goals:
        measured = f"{goal.figure:.3f}" if goal.figure < 1000 else f"{goal.figure:,.0f}"
        doubt = f"±{goal.doubt:.2f}" if goal.doubt else ""
        table.rows.append([goal.what, measured, doubt, f"<= {goal.limit:g} {goal.unit}", goal.verdict])
    return table


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Align text to the left and figures to the right of their columns."""
    padded = (
        cell.rjust(width) if cell[:1].isdigit() else cell.ljust(width)
        for cell, width in zip(cells, widths, strict=True)
    )
    return "  ".join(padded).rstrip()
