"""Signs of life in the row stream: at most one row per device and interval, and never more than a turn can carry."""

from __future__ import annotations

from drover.projection.presence_rows import INTERVAL_S, ROWS_PER_TURN_MAX, TURN_S, WAITING_MAX, PresenceRows


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def presence() -> tuple[PresenceRows, Clock]:
    clock = Clock()
    return PresenceRows("devices", clock=clock), clock


def test_a_device_that_was_seen_is_due_once():
    rows, _ = presence()
    rows.seen(["a", "a"])
    assert rows.take() == ["a"]
    assert rows.take() == []


def test_a_device_that_is_seen_all_the_time_is_due_once_in_an_interval():
    rows, clock = presence()
    taken = []
    for second in range(int(4 * INTERVAL_S)):
        clock.now = float(second)
        rows.seen(["a"])
        taken += [second] * len(rows.take())
    assert taken == [0, 30, 60, 90]


def test_a_device_that_fell_silent_is_not_due_again():
    rows, clock = presence()
    rows.seen(["a"])
    assert rows.take() == ["a"]
    clock.now = 2 * INTERVAL_S
    assert rows.take() == []


def test_a_farm_that_comes_online_at_once_is_spread_over_some_seconds_and_nobody_is_forgotten():
    rows, clock = presence()
    everybody = [str(n) for n in range(3 * ROWS_PER_TURN_MAX + 1)]
    rows.seen(everybody)
    turns = []
    while some := rows.take():
        turns.append(some)
        clock.now += TURN_S
    assert [len(some) for some in turns] == [ROWS_PER_TURN_MAX] * 3 + [1]
    assert [key for some in turns for key in some] == everybody


def test_what_waits_has_a_bound():
    rows, _ = presence()
    rows.seen(range(WAITING_MAX + 10))
    assert rows.waiting == WAITING_MAX
