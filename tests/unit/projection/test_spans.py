"""Which traces end in a batch of the projector, and below which span they do."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest

from drover.domain.fleet.events import DeviceCameOnline
from drover.projection.checkpoint import Checkpoint
from drover.projection.feed import Batch, DecodedCommit
from drover.projection.spans import TRACES_PER_BATCH_MAX, record_projected, traces_of
from drover.service import tracing
from drover.service.tracing import COMMIT, new_trace

pytestmark = pytest.mark.req("EV-07")


def batch(*commits):
    """Commits of events, each given by its trace and its age."""
    decoded = []
    for seq, events in enumerate(commits, start=1):
        made = []
        for trace, age in events:
            event = DeviceCameOnline("d1")
            event.at = datetime.now(UTC) - age
            if trace is not None:
                event.trace = str(trace)
            made.append(event)
        decoded.append(DecodedCommit(seq, made, []))
    return Batch(Checkpoint(), Checkpoint(), decoded, 0)


NOW = timedelta()


def test_a_trace_ends_once_with_the_last_commit_that_it_led_to():
    one, two = new_trace(), new_trace()
    assert traces_of(batch([(one, NOW), (None, NOW)], [(one, NOW), (two, NOW)])) == {str(one): 2, str(two): 2}


def test_traces_of_old_events_are_over():
    assert traces_of(batch([(new_trace(), timedelta(minutes=11))])) == {}


def test_of_a_large_batch_a_sample_is_told():
    commits = [[(new_trace(), NOW)] for _ in range(TRACES_PER_BATCH_MAX * 2)]
    assert len(traces_of(batch(*commits))) == TRACES_PER_BATCH_MAX


def test_the_span_is_below_that_of_the_commit_which_nobody_told_the_projector_of(monkeypatch):
    spans = []
    monkeypatch.setattr(tracing, "recorder", spans.append)
    command, silent = new_trace(), str(new_trace())[:-2] + "00"
    record_projected({str(command): 7, silent: 8}, "fleet", "main", time.perf_counter())
    (span,) = spans
    assert (span.name, span.parent) == ("project fleet", command.named_child(COMMIT).span_id)
    assert span.trace.trace_id == command.trace_id
    assert span.attributes == {"drover.context": "fleet", "drover.partition": "main", "drover.position": 7}
