"""Attempts at renders have rows of their own, each with its run and its attempt."""

from __future__ import annotations

import pytest

from drover.domain.render import commands as c
from drover.domain.render import events as e
from drover.readmodel.render.attempts import RENDERS_EVENT
from tests.unit.domain.render.world import W1, W2, Hand, requested
from tests.unit.projection.rendering import folded, second

FIRST, SECOND, THIRD = Hand(), Hand(run=2, worker=W2), Hand(run=3, worker=W1)


def requeued(reason: str, run: int, generation: int, message: str = "why") -> e.RenderRequeued:
    return e.RenderRequeued(1, run, reason, message, 1, generation, f"drover-1-{generation}-x", None)


def told(*events) -> list[tuple[str, int, int, str | None]]:
    shown = folded(*events).shown(RENDERS_EVENT)
    assert {row["render_queue_id"] for row in shown} == {1}
    return [(row["event_type"], row["attempt"], row["run"], row["worker_id"]) for row in shown]


@pytest.mark.req("EV-04")
def test_a_render_that_went_well_has_a_row_for_each_step_of_its_attempt() -> None:
    assert told(requested(), *FIRST.completed()) == [
        ("CREATED", 1, 0, None),
        ("SENT", 1, 1, W1),
        ("ACKED", 1, 1, W1),
        ("SUCCEEDED", 1, 1, W1),
    ]


@pytest.mark.req("EV-04")
def test_a_lapsed_lease_ends_a_run_and_not_the_attempt() -> None:
    assert told(requested(), *FIRST.rendering(), requeued("lapsed", 1, 1), SECOND.claimed())[3:] == [
        ("ROLLED_BACK", 1, 1, W1),
        ("SENT", 1, 2, W2),
    ]


@pytest.mark.req("EV-04")
def test_a_render_that_is_done_again_is_the_next_attempt() -> None:
    rows = told(
        requested(),
        *FIRST.rendering(),
        requeued("RENDER_TIMEOUT", 1, 2),
        *SECOND.rendering(),
        requeued("RENDER_LOST", 2, 3),
        *THIRD.rendering(),
        e.RenderFailed(1, 3, "RENDER_ERROR", "oh", None),
        requeued("rerun", 3, 4),
    )
    assert rows == [
        ("CREATED", 1, 0, None),
        ("SENT", 1, 1, W1),
        ("ACKED", 1, 1, W1),
        ("TIMEOUT", 1, 1, W1),
        ("SENT", 2, 2, W2),
        ("ACKED", 2, 2, W2),
        ("FAILED", 2, 2, W2),
        ("SENT", 3, 3, W1),
        ("ACKED", 3, 3, W1),
        ("FAILED_FINAL", 3, 3, W1),
        ("CREATED", 4, 0, None),
    ]


@pytest.mark.req("EV-04")
def test_a_late_report_is_booked_on_the_attempt_of_its_own_run() -> None:
    rows = told(
        requested(),
        *FIRST.rendering(),
        requeued("lapsed", 1, 1),
        *SECOND.rendering(),
        requeued("RENDER_TIMEOUT", 2, 2),
        *THIRD.rendering(),
        SECOND.stale(c.ReportCompleted, 3, "rendering"),
        FIRST.stale(c.ReportCompleted, 3, "rendering"),
    )
    assert rows[-2:] == [("STALE_REPORT", 1, 2, W2), ("STALE_REPORT", 1, 1, W1)]


@pytest.mark.req("EV-04")
def test_a_retry_says_what_failed_and_when_it_is_due() -> None:
    row = folded(requested(), *FIRST.rendering(), FIRST.retry("NAS_AWAY", 1, second(99))).shown(RENDERS_EVENT)[-1]
    assert (row["event_type"], row["level"], row["error_code"]) == ("RETRY_SCHEDULED", "warning", "NAS_AWAY")
    assert (row["message"], row["due_at"]) == ("oh", second(99))


@pytest.mark.req("EV-04")
def test_a_cancelled_render_shows_how_its_attempt_ended() -> None:
    assert told(requested(), *FIRST.rendering(), e.RenderCancelled(1, 1, "by kim", None))[-1] == (
        "CANCELLED",
        1,
        1,
        W1,
    )


@pytest.mark.req("EV-04")
def test_progress_is_no_step_of_an_attempt() -> None:
    events = [e.RenderProgressed(*FIRST.of, 50), e.LeaseRenewed(*FIRST.of, second(99))]
    assert len(told(requested(), *FIRST.rendering(), *events)) == 3
