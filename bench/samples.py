"""Samples: repeated measurements of one thing, and statistics that hold on a busy machine."""

import math
import random
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

Item = TypeVar("Item")

_RESAMPLINGS = 500
_TRIMMED = 0.1


@dataclass(frozen=True)
class Estimate:
    """A figure with its margin of error: the 95 % confidence interval."""

    figure: float
    doubt: float

    def __str__(self) -> str:
        return f"{self.figure:.3f} ±{self.doubt:.2f}"


def ratio(numerators: Sequence[float], denominators: Sequence[float]) -> Estimate:
    """Estimate a ratio by the median of its rounds, so that a slow round does not count."""
    rounds = [above / below for above, below in zip(numerators, denominators, strict=True)]
    return _estimate(rounds, statistics.median)


def mean_ratio(numerators: Sequence[float], denominators: Sequence[float]) -> Estimate:
    """Estimate a ratio of means, for times that come in steps: their median would be on one step or the other."""
    rounds = list(zip(numerators, denominators, strict=True))
    return _estimate(rounds, lambda pairs: _mean(above for above, _ in pairs) / _mean(below for _, below in pairs))


def percentile(values: Sequence[float], percent: float) -> float:
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def rotated(items: Sequence[Item], turn: int) -> list[Item]:
    """Return the items in another order each turn, so that none always follows the same one."""
    start = turn // 2 % len(items)
    order = [*items[start:], *items[:start]]
    return order[::-1] if turn % 2 else order


def _estimate(rounds: Sequence[Item], statistic: Callable[[Sequence[Item]], float]) -> Estimate:
    """Bootstrap: resample the rounds with replacement, and return the figure of each sample."""
    chance = random.Random(1)
    figure = statistic(rounds)
    resampled = [statistic(chance.choices(rounds, k=len(rounds))) for _ in range(_RESAMPLINGS)]
    doubt = (percentile(resampled, 97.5) - percentile(resampled, 2.5)) / 2
    return Estimate(figure, doubt)


def _mean(values: Iterable[float]) -> float:
    """Return the mean without the lowest and the highest tenth."""
    ordered = sorted(values)
    cut = int(len(ordered) * _TRIMMED)
    return statistics.fmean(ordered[cut : len(ordered) - cut])
