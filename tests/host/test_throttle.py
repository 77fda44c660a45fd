import itertools

import pytest

from fanlight.host.calls.throttle import Throttle


def stream(size: int, piece: int, seconds: float, pause_every: int = 0) -> list[tuple[float, int]]:
    """Return when a View is shown how much of arguments that are written evenly, or with pauses."""
    throttle, shown, now = Throttle(), [], 0.0
    pieces = size // piece
    for i in range(1, pieces + 1):
        now += seconds / pieces
        if pause_every and i % pause_every == 0:
            now += 0.3
        if throttle.due(i * piece, now, in_flight=False):
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


def test_one_is_in_flight_at_a_time() -> None:
    throttle = Throttle()
    assert throttle.due(10, 0.0, in_flight=False)
    assert not throttle.due(1000, 1.0, in_flight=True)
    assert throttle.due(1000, 1.0, in_flight=False)


def test_what_is_little_is_shown_after_a_pause_and_what_is_nothing_never() -> None:
    throttle = Throttle()
    assert throttle.due(1000, 0.0, in_flight=False)
    assert not throttle.due(1010, 0.1, in_flight=False)
    assert throttle.due(1010, 0.3, in_flight=False)
    assert not throttle.due(1010, 9.9, in_flight=False)
