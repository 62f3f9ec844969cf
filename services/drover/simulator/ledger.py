"""Records all runs that agents of this farm began, with their outcomes, to compare them with the platform's log."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from drover.agent.observer import End
from drover.agent.protocol import Answer, Offer, Report

RUNS_MAX: Final = 2_000_000
"""Maximum of runs in the ledger; those beyond it are only counted."""

Receipt = Literal["recorded", "conflict", "refused"]


class Run(msgspec.Struct, omit_defaults=True):
    """One entry of the ledger."""

    assignment_id: str
    run: int
    device_id: str
    serial_number: str
    began_at: datetime
    resumed: int = 0
    """How often the run was resumed from the store after a crash of its agent."""
    end: End | None = None
    """How the run ended. None: it was still running when the farm stopped."""
    ended_at: datetime | None = None
    said: Literal["completed", "failed"] | None = None
    """The status in the run's final report, whether or not the platform accepted it. None: there was no final
    report."""
    error_code: str | None = None
    receipt: Receipt | None = None
    """The platform's answer to the final report. `conflict`: the run had ended already, most likely by a report whose
    answer was lost. `refused`: the run was over. None: there was no answer."""


class Ledger:
    """The recorded runs, by assignment and run number."""

    def __init__(self, wall: Callable[[], datetime], *, runs_max: int = RUNS_MAX) -> None:
        self._wall = wall
        self._runs_max = runs_max
        self._runs: dict[tuple[str, int], Run] = {}
        self.left_out = 0

    def began(self, serial_number: str, offer: Offer) -> None:
        if len(self._runs) >= self._runs_max:
            self.left_out += 1
            return
        self._runs[offer.id, offer.run] = Run(offer.id, offer.run, offer.device_id, serial_number, self._wall())

    def resumed(self, serial_number: str, offer: Offer) -> None:
        if (offer.id, offer.run) not in self._runs:
            self.began(serial_number, offer)  # begun by an earlier process
        if (run := self._runs.get((offer.id, offer.run))) is not None:
            run.resumed += 1

    def ended(self, offer: Offer, end: End, said: Report | None, answer: Answer | None) -> None:
        run = self._runs.get((offer.id, offer.run))
        if run is None:
            return
        run.end, run.ended_at = end, self._wall()
        if said is not None and said.status != "running":
            run.said, run.error_code = said.status, said.error_code
            run.receipt = None if answer is None else _receipt(end, answer)

    def runs(self) -> list[Run]:
        return list(self._runs.values())

    def write(self, path: Path, **about: Any) -> None:
        """Write the ledger as one JSON object: first the metadata, then one run per line, so that line-based tools can
        read it."""
        head = msgspec.json.encode({**about, "left_out": self.left_out})
        with path.open("wb") as file:
            file.write(head[:-1] + b',"runs":[\n')
            for number, run in enumerate(self._runs.values()):
                file.write((b",\n" if number else b"") + msgspec.json.encode(run))
            file.write(b"\n]}\n")


def _receipt(end: End, answer: Answer) -> Receipt:
    if answer.ok:
        return "recorded"
    return "conflict" if end in (End.COMPLETED, End.FAILED) else "refused"
