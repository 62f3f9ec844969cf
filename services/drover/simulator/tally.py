"""What the farm did since the last summary. Counts only; who reads them is decided elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from drover.simulator.patience import Answer
from drover.simulator.phone import Phone


class Tally:
    def __init__(self) -> None:
        self._answers: Counter[str] = Counter()
        self._late_s_max = 0.0

    def answered(self, answer: Answer) -> None:
        self._answers["no connection" if answer.status is None else str(answer.status)] += 1

    def late(self, by_s: float) -> None:
        """A phone was asked this long after it was due: more than a second means that the farm is too big for us."""
        self._late_s_max = max(self._late_s_max, by_s)

    def summary(self, phones: Iterable[Phone], now: float) -> dict[str, Any]:
        """One line for people; counting starts anew."""
        conditions = Counter("well" if (fault := phone.fault_at(now)) is None else fault.name for phone in phones)
        told = {
            "phones": dict(conditions.most_common()),
            "answers": dict(self._answers.most_common()),
            "late_s_max": round(self._late_s_max, 3),
        }
        self._answers.clear()
        self._late_s_max = 0.0
        return told
