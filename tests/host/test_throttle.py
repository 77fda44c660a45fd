import itertools

import pytest

from fanlight.host.calls.throttle import Throttle


def stream(size: int, piece: int, seconds: float, pause_every: int = 0) -> list[tuple[float, int]]:
    """Return the time and size of each partial input, for arguments written evenly or with pauses."""
    throttle, sent, now = Throttle(), [], 0.0
    pieces = size // piece
    for i in range(1, pieces + 1):
        now += seconds / pieces
        if pause_every and i % pause_every == 0:
            now += 0.3
        if throttle.due(i * piece, now, in_flight=False):
            sent.append((now, i * piece))
    return sent


@pytest.mark.parametrize("pause_every", [0, 100, 5000])
@pytest.mark.parametrize(("size", "piece"), [(1_000_000, 20), (20_000, 4), (300, 3)])
def test_at_most_25_times_the_complete_arguments_are_sent(size: int, piece: int, pause_every: int) -> None:
    sent = stream(size, piece, 20.0, pause_every)
    assert sum(size_so_far for _, size_so_far in sent) <= 25 * size
    assert len(sent) > 10


def test_partial_input_is_sent_at_most_sixty_times_a_second() -> None:
    times = [at for at, _ in stream(100_000, 1, 1.0)]
    assert all(later - earlier >= 1 / 60 - 1e-9 for earlier, later in itertools.pairwise(times))


def test_one_partial_input_is_in_flight_at_a_time() -> None:
    throttle = Throttle()
    assert throttle.due(10, 0.0, in_flight=False)
    assert not throttle.due(1000, 1.0, in_flight=True)
    assert throttle.due(1000, 1.0, in_flight=False)


def test_small_growth_is_sent_after_a_pause_and_no_growth_never() -> None:
    throttle = Throttle()
    assert throttle.due(1000, 0.0, in_flight=False)
    assert not throttle.due(1010, 0.1, in_flight=False)
    assert throttle.due(1010, 0.3, in_flight=False)
    assert not throttle.due(1010, 9.9, in_flight=False)
