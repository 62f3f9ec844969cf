"""Whatever is asked for, a decision stays within its bounds, with the longest ids that there can be."""

import pytest

from drover.domain.analysis import ANALYSIS
from drover.domain.analysis.policy import FOLLOW_UP_EVENTS_MAX, TIERS_MAX
from drover.domain.decider import CHAIN_BYTES_FULL, DECISION_BYTES_MAX, Tick
from drover.eventlog.codec import Codec
from drover.testing.scenario import given
from tests.unit.domain.analysis.world import cleanup, numbered, registered, started

ENVELOPE = {"by": "b" * 64, "cause": "c" * 66, "trace": "t" * 55}
"""As long as they come: a key of a client with its digest, a W3C trace."""


@pytest.mark.req("SY-06")
def test_a_step_of_a_big_cleanup_has_so_many_events_and_bytes():
    users = [f"user_{number:0123d}" for number in range(400)]
    scenario = given(ANALYSIS, *(registered(user) for user in users))
    for number, user in enumerate(users):
        scenario.given(*started(numbered(number), user=user))
    tiers = {f"{number:032d}": 60 + number for number in range(TIERS_MAX)}
    scenario.after(minutes=31).when(cleanup(tier_timeouts_s=tiers))
    steps = 0
    while True:
        steps += 1
        events = scenario.decision.events
        assert len(events) <= FOLLOW_UP_EVENTS_MAX + 2
        for event in events:
            for name, value in ENVELOPE.items():
                setattr(event, name, value)
        assert len(Codec.of(ANALYSIS).encode(events)) <= DECISION_BYTES_MAX
        if scenario.state.run is None:
            break
        scenario.when(Tick())
    assert steps > 4


def test_the_longest_chain_leaves_room_for_one_step_more():
    assert DECISION_BYTES_MAX - CHAIN_BYTES_FULL > 20 * 1000, "twenty notices, or a test and the end of the run"
