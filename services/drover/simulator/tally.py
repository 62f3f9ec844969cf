"""The farm's statistics: counts since the last summary, latencies since the start."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from drover.agent.observer import End
from drover.agent.protocol import Answer, Heartbeat, Offer, Poll, Report
from drover.simulator.latency import Latency
from drover.simulator.ledger import Ledger
from drover.simulator.phone import Errand, Identity, Phone


class Tally:
    def __init__(self, ledger: Ledger | None = None) -> None:
        self.ledger = ledger
        self.total: Counter[str] = Counter()
        """The counts of work since the start."""
        self.poll = Latency()
        """Latency of polls."""
        self.done = Latency()
        """Time from a final report on a socket to the answer `done`."""
        self.next_offer = Latency()
        """Time from a completion reported on a socket to the next offer of the same job on that socket: from a freed
        slot to its next work.

        The first completion is paired with the first offer. Measurable only if a PC has more phones than slots.
        """
        self._work: Counter[str] = Counter()
        self._answers: Counter[str] = Counter()
        self._late_s_max = 0.0

    def observer(self, identity: Identity) -> PhoneObserver:
        return PhoneObserver(self, identity.serial_number)

    def count(self, what: str, times: int = 1) -> None:
        self._work[what] += times
        self.total[what] += times

    def answered(self, errand: Errand, answer: Answer) -> None:
        silence = "no answer" if answer.connected else "no connection"
        heard = silence if answer.status is None else str(answer.status)
        self._answers[f"{_name(errand)} {heard}"] += 1
        if isinstance(errand.action, Report):
            if errand.repeated:
                self.count("reports repeated")
            if answer.refused:
                self.count(f"reports refused {answer.code or answer.status}")

    def late(self, by_s: float) -> None:
        """Note how many seconds after its due time a phone was handled. More than one second means that the farm is
        too big for the machine."""
        self._late_s_max = max(self._late_s_max, by_s)

    def latencies(self) -> dict[str, Any]:
        measured = {"poll": self.poll, "final_to_done": self.done, "freed_to_next_offer": self.next_offer}
        return {name: latency.summary() for name, latency in measured.items() if latency.count}

    def summary(self, phones: Iterable[Phone], now: float) -> dict[str, Any]:
        """Make a one-line summary for people, and reset the counts."""
        conditions = Counter("well" if (fault := phone.fault_at(now)) is None else fault.name for phone in phones)
        told = {
            "phones": dict(conditions.most_common()),
            "work": dict(self._work.most_common()),
            "answers": dict(self._answers.most_common()),
            "latencies": self.latencies(),
            "late_s_max": round(self._late_s_max, 3),
        }
        self._work.clear()
        self._answers.clear()
        self._late_s_max = 0.0
        return told


class PhoneObserver:
    """Counts what all agents of one phone do, across crashes."""

    __slots__ = ("_serial_number", "_tally")

    def __init__(self, tally: Tally, serial_number: str) -> None:
        self._tally = tally
        self._serial_number = serial_number

    def offered(self, offer: Offer, repeated: bool) -> None:
        self._tally.count("offers repeated" if repeated else "offers")

    def began(self, offer: Offer) -> None:
        self._tally.count("runs")
        if self._tally.ledger is not None:
            self._tally.ledger.began(self._serial_number, offer)

    def resumed(self, offer: Offer) -> None:
        self._tally.count("runs resumed")
        if self._tally.ledger is not None:
            self._tally.ledger.resumed(self._serial_number, offer)

    def ended(self, offer: Offer, end: End, said: Report | None, answer: Answer | None) -> None:
        failed_with = f" {said.error_code}" if end is End.FAILED and said is not None else ""
        self._tally.count(f"{end}{failed_with}")
        if self._tally.ledger is not None:
            self._tally.ledger.ended(offer, end, said, answer)


def _name(errand: Errand) -> str:
    action = errand.action
    if isinstance(action, Heartbeat):
        return "heartbeat"
    return "poll" if isinstance(action, Poll) else action.status
