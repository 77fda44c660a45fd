import itertools

import pytest

from fanlight.host.views.throttle import Pace


def stream(size: int, piece: int, seconds: float, pause_every: int = 0) -> list[tuple[float, int]]:
    """Return when a View is shown how much of arguments that are written evenly, or with pauses."""
    pace, shown, now = Pace(), [], 0.0
    pieces = size // piece
    for i in range(1, pieces + 1):
        now += seconds / pieces
        if pause_every and i % pause_every == 0:
            now += 0.3
        if pace.due(i * piece, now, under_way=False):
            shown.append((now, i * piece))
    return shown


@pytest.mark.parametrize("pause_every", [0, 100, 5000])
@pytest.mark.parametrize(("size", "piece"), [(1_000_000, 20), (20_000, 4), (300, 3)])
def test_all_that_is_shown_is_at_most_25_times_the_whole(size: int, piece: int, pause_every: int) -> None:
    shown = stream(size, piece, 20.0, pause_every)
    assert sum(much for _, much in shown) <= 25 * size
    assert len(shown) > 10


def test_at_most_sixty_a_second() -> None:
    times = [at for at, _ in stream(100_000, 1, 1.0)]
    assert all(later - earlier >= 1 / 60 - 1e-9 for earlier, later in itertools.pairwise(times))


def test_one_is_under_way_at_a_time() -> None:
    pace = Pace()
    assert pace.due(10, 0.0, under_way=False)
    assert not pace.due(1000, 1.0, under_way=True)
    assert pace.due(1000, 1.0, under_way=False)


def test_what_is_little_is_shown_after_a_pause_and_what_is_nothing_never() -> None:
    pace = Pace()
    assert pace.due(1000, 0.0, under_way=False)
    assert not pace.due(1010, 0.1, under_way=False)
    assert pace.due(1010, 0.3, under_way=False)
    assert not pace.due(1010, 9.9, under_way=False)
