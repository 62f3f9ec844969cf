"""Metrics of a writer. Labels are bounded: few contexts, few outcomes."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter, Gauge, Histogram

from drover.domain.errors import Code

_LATENCY_S: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

COMMANDS = Counter("drover_writer_commands_total", "Commands settled, by outcome", ["context", "outcome"])
EVENTS = Counter("drover_writer_events_total", "Events committed", ["context"])
COMMIT_SECONDS = Histogram(
    "drover_writer_commit_seconds", "Time from sending a commit to its acknowledgement", ["context"], buckets=_LATENCY_S
)
WAITING = Gauge(
    "drover_writer_waiting_commands", "Commands in the intake at the start of a turn", ["context", "partition"]
)
REFUSALS = Counter(
    "drover_writer_refusals_total",
    "Commands refused without an event, by code; OVERLOADED: the queue is full",
    ["context", "code"],
)
TERMS = Counter(
    "drover_writer_terms_total",
    "Terms of this process that ended, by reason: stopped, lease_lost, fenced (another writer wrote), clock, fault",
    ["context", "ended"],
)
LEADER = Gauge("drover_writer_leader", "1 while this process holds the partition's lease", ["context", "partition"])
READ_ONLY = Gauge(
    "drover_writer_read_only",
    "1 while the log is full and this process, as its leader, refuses commands with LOG_FULL",
    ["context", "partition"],
)
EPOCH = Gauge("drover_writer_epoch", "Epoch of the current term", ["context", "partition"])
POSITION = Gauge("drover_writer_position", "Stream sequence of the last commit in the state", ["context", "partition"])
AHEAD_SECONDS = Gauge(
    "drover_writer_ahead_seconds",
    "Seconds by which the partition's time is ahead of the wall clock, because a clock was ahead before",
    ["context", "partition"],
)
REMEMBERED = Gauge(
    "drover_writer_remembered_commands", "Command ids remembered to detect repeats", ["context", "partition"]
)
PARKED = Counter("drover_writer_parked_deadlines_total", "Deadlines parked because Tick made no progress", ["context"])
QUARANTINED = Counter(
    "drover_writer_quarantined_commands_total", "Commands refused because their events could not be folded", ["context"]
)
SNAPSHOT_BYTES = Gauge("drover_writer_snapshot_bytes", "Size of the latest snapshot", ["context", "partition"])
SNAPSHOTS = Counter("drover_writer_snapshots_total", "Snapshots attempted, by result", ["context", "result"])


def start_counters_at_zero(context: str) -> None:
    """Initialise rare counters to 0, so that alert rules see their first increment."""
    for ended in ("lease_lost", "fenced", "clock", "fault"):
        TERMS.labels(context, ended)
    for code in (Code.OVERLOADED, Code.LOG_FULL, Code.INTERNAL):
        REFUSALS.labels(context, code)
    for seldom in (PARKED, QUARANTINED):
        seldom.labels(context)
    SNAPSHOTS.labels(context, "failed")
