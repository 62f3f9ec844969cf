"""What the doctor says of copies, from what the leaders of the streams say."""

from __future__ import annotations

import nats.js.api as api

from drover.cli.checks.copies import judged
from drover.cli.checks.finding import Verdict
from drover.eventlog.copies import copies_in


def stream(name, copies, **peers):
    return copies_in(info(name, copies, **peers))


def info(name, copies, **peers):
    replicas = [api.PeerInfo(name=peer, active=0, **state) for peer, state in peers.items()]
    return api.StreamInfo(
        config=api.StreamConfig(name=name, num_replicas=copies),
        state=api.StreamState(messages=0, bytes=0, first_seq=0, last_seq=0, consumer_count=0),
        cluster=api.ClusterInfo(name="c", leader="n0", replicas=replicas),
    )


WELL = {"n1": {"current": True, "offline": False}, "n2": {"current": True, "offline": False}}
AWAY = WELL | {"n2": {"current": False, "offline": True}}
LATE = WELL | {"n1": {"current": False, "offline": False}}


def test_three_copies_that_are_current_are_well():
    found = judged([stream("FLEET", 3, **WELL), stream("RENDER", 3, **WELL)], 3)
    assert (found.verdict, found.found) == (Verdict.OK, "3 of every stream, all current")


def test_one_server_has_one_copy():
    assert judged([stream("FLEET", 1)], 1).verdict is Verdict.OK


def test_fewer_copies_than_were_asked_for_are_a_failure_that_says_how_to_get_them():
    found = judged([stream("FLEET", 1), stream("RENDER", 3, **WELL)], 3)
    assert found.verdict is Verdict.FAIL
    assert "FLEET has fewer" in found.found
    assert "drover log replicas 3" in found.remedy


def test_a_node_that_is_away_or_late_is_a_warning_with_its_name():
    found = judged([stream("FLEET", 3, **AWAY), stream("RENDER", 3, **LATE)], 3)
    assert found.verdict is Verdict.WARN
    assert found.found == "FLEET: n2 is away; RENDER: n1 lags behind"


def test_a_replica_that_no_node_holds_yet_is_a_warning():
    found = judged([stream("FLEET", 3, n1=WELL["n1"])], 3)
    assert (found.verdict, found.found) == (Verdict.WARN, "FLEET: 1 replicas have no node yet")
