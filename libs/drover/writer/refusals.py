"""Describes the reasons why a partition would not accept a command now, each with advice. Other modules detect them."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec

from drover.eventlog.histories import OfAnotherHistory
from drover.eventlog.log import Partition

_DISK: Final = (
    "Look at the disk of NATS. If it is full, make room and then restart nats-server (`drover up` does it by itself): "
    "after a full disk it writes nothing until it is restarted."
)


class RefusalCode(StrEnum):
    """Why a writer would refuse a command now. The dashboard has a translated text for each value."""

    NO_LEADER = "no_leader"
    LEASE_STALE = "lease_stale"
    NOT_LISTENING = "not_listening"
    NO_ANSWER = "no_answer"
    TERM_OVER = "term_over"
    LEASE_NOT_RENEWED = "lease_not_renewed"
    APPEND_UNSETTLED = "append_unsettled"
    STUCK = "stuck"
    OVERLOADED = "overloaded"
    OTHER_HISTORY = "other_history"
    LOG_FULL = "log_full"


class Refusal(msgspec.Struct, frozen=True):
    code: RefusalCode
    why: str
    """The reason as a sentence that names the partition."""
    remedy: str
    """What a person can do about it, as a sentence."""

    def __str__(self) -> str:
        return f"{self.why} {self.remedy}"


def no_leader(partition: Partition) -> Refusal:
    return Refusal(
        RefusalCode.NO_LEADER,
        f"Nobody leads {partition}: its commands get no answer.",
        f"Is its service running? If it is, its log says why it does not lead. {_DISK}",
    )


def lease_stale(partition: Partition, leader: str, lapsed_for_s: float) -> Refusal:
    return Refusal(
        RefusalCode.LEASE_STALE,
        f"Nobody leads {partition}: the lease of {leader} lapsed {lapsed_for_s:.0f} s ago and NATS has not removed it, "
        "so NATS does not write.",
        _DISK,
    )


def not_listening(partition: Partition, leader: str) -> Refusal:
    return Refusal(
        RefusalCode.NOT_LISTENING,
        f"{leader} has the lease of {partition} but takes no commands.",
        "It is starting, or it has died. If it stays so, look at its log; another process can lead once the lease has "
        "lapsed.",
    )


def no_answer(partition: Partition, leader: str, within_s: float) -> Refusal:
    return Refusal(
        RefusalCode.NO_ANSWER,
        f"{leader} leads {partition} but did not answer within {within_s:g} s.",
        "Look whether its process or its machine hangs. Another process can lead once its lease has lapsed.",
    )


def term_over(partition: Partition) -> Refusal:
    return Refusal(
        RefusalCode.TERM_OVER,
        f"The leader of {partition} is stepping down or has lost its lease.",
        f"The next one usually leads within seconds. If it stays so, look at the log of the service. {_DISK}",
    )


def lease_not_renewed(partition: Partition, reason: str) -> Refusal:
    return Refusal(
        RefusalCode.LEASE_NOT_RENEWED, f"NATS does not take writes to the lease of {partition} ({reason}).", _DISK
    )


def append_unsettled(partition: Partition, for_s: float, reason: str) -> Refusal:
    return Refusal(
        RefusalCode.APPEND_UNSETTLED,
        f"A commit to {partition} has been waiting for its acknowledgement for {for_s:.0f} s ({reason}).",
        _DISK,
    )


def log_full(partition: Partition, since: datetime, reason: str) -> Refusal:
    return Refusal(
        RefusalCode.LOG_FULL,
        f"The log of {partition} is full ({reason}): it has been read-only since {since:%Y-%m-%d %H:%M} UTC.",
        "Raise its limit (`nats stream edit`, or DROVER_LOG_MAX with `drover up`), let DROVER_LOG_KEEP move old events "
        "to the archive, or give NATS a larger disk. Within 15 s of there being room, commands are accepted again.",
    )


def stuck(partition: Partition, within_s: float) -> Refusal:
    return Refusal(
        RefusalCode.STUCK,
        f"The leader of {partition} did not reach its next command within {within_s:g} s.",
        "Its log shows what blocks it. If it stays so, restart its process.",
    )


def overloaded(partition: Partition) -> Refusal:
    return Refusal(
        RefusalCode.OVERLOADED,
        f"Too many commands wait for {partition}: new ones are refused.",
        "The queue usually drains by itself. If it stays so, see WriterOverloaded in docs/runbook.md.",
    )


def other_history(partition: Partition, error: OfAnotherHistory) -> Refusal:
    return Refusal(RefusalCode.OTHER_HISTORY, f"This process refuses to lead {partition}.", str(error))
