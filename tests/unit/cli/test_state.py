"""`drover state`: what was known at a moment, and what of it is about one thing."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from drover.cli import state
from drover.cli.state import DECIDERS, about, stood_at
from drover.domain.contexts import CONTEXTS
from drover.domain.fleet import FLEET
from drover.domain.fleet.events import PcRegistered
from drover.writer.fold import Fold, encode_image

from .conftest import BEGAN, online, registered, write


def pc(n):
    return PcRegistered(pc_id="pc-1", capacity=20, n=n, at=BEGAN, by="service_role", cause="c0")


@pytest.fixture
async def lived(log):
    await write(log, [pc(1), registered(2)], [online(3), registered(4, device="d2")], [online(5, device="d2")])
    return log


def test_every_context_can_be_asked_for():
    assert set(DECIDERS) == set(CONTEXTS)


@pytest.mark.req("EV-06")
@pytest.mark.parametrize(
    ("seconds", "devices", "alive", "place"),
    [
        (0, set(), set(), (1, 1)),
        (2, {"d1"}, set(), (1, 2)),
        (3, {"d1"}, {"d1"}, (2, 3)),
        (4, {"d1", "d2"}, {"d1"}, (2, 4)),
        (99, {"d1", "d2"}, {"d1", "d2"}, (3, 5)),
    ],
)
async def test_a_moment_shows_what_had_happened_and_nothing_later(lived, seconds, devices, alive, place):
    """A moment may fall within a commit."""
    stood = await stood_at(FLEET, lived, BEGAN + timedelta(seconds=seconds), None)
    assert set(stood.state["devices"]) == devices
    assert {name for name, device in stood.state["devices"].items() if device["alive"]} == alive
    assert (stood.seq, stood.n) == place


@pytest.mark.req("EV-06")
async def test_a_checkpoint_shortens_the_way_and_changes_nothing(lived):
    fold = Fold(FLEET)
    fold.apply(await lived.get(1))
    image, at = encode_image(fold), BEGAN + timedelta(seconds=4)
    lived.handed_out = 0
    assert await stood_at(FLEET, lived, at, image) == await stood_at(FLEET, lived, at, None)
    assert lived.handed_out == 2 + 3


@pytest.mark.req("YR-09")
async def test_the_bar_is_full_at_the_moment_and_not_at_the_end_of_the_log(lived, monkeypatch):
    monkeypatch.setattr(state, "EVENTS_PER_TELLING", 1)
    # Commits of 2, 2 and 1 events, stored when their first event happened.
    stored = [BEGAN, BEGAN + timedelta(seconds=3), BEGAN + timedelta(seconds=5)]
    lived._commits[:] = [replace(one, stored_at=at) for one, at in zip(lived._commits, stored, strict=True)]
    told = []
    await stood_at(FLEET, lived, BEGAN + timedelta(seconds=4), None, lambda done, of: told.append((done, of)))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


async def test_before_the_first_event_there_is_nothing(lived, log):
    stood = await stood_at(FLEET, lived, BEGAN - timedelta(days=1), None)
    assert (stood.seq, stood.n, stood.state["devices"]) == (0, 0, {})


async def test_an_empty_log_has_an_empty_state(log):
    assert (await stood_at(FLEET, log, BEGAN, None)).n == 0


@pytest.mark.req("EV-06")
def test_one_thing_is_found_wherever_it_is_named():
    told = {
        "devices": {"d1": {"device_id": "d1", "pc_id": "pc-1"}, "d2": {"device_id": "d2", "pc_id": "pc-2"}},
        "pcs": {"pc-1": {"devices": {"d1": None}}, "pc-2": {"devices": {"d2": None}}},
        "renders": {"5": {"id": 5}, "6": {"id": 6, "tries": 5, "of_id": 5}},
        "queue": [["d1", 3], ["d2", 4]],
        "open": 5,
    }
    assert about(told, "d1") == {
        "devices": {"d1": told["devices"]["d1"]},
        "pcs": {"pc-1": told["pcs"]["pc-1"]},
        "queue": [["d1", 3]],
    }
    assert set(about(told, "5")["renders"]) == {"5", "6"}, "a number is a name where its field says so"
    del told["renders"]["6"]["of_id"]
    assert set(about(told, "5")["renders"]) == {"5"}
    assert about(told, "d3") == {}
