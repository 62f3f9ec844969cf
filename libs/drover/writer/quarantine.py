"""The commands of a term whose events could not be folded into the state. They are refused from then on."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

import structlog

from drover.writer import metrics
from drover.writer.idempotency import split_id
from drover.writer.intake import Pending

QUARANTINE_MAX: Final = 1_000

log = structlog.get_logger("drover.writer")


class Quarantine:
    def __init__(self, context: str) -> None:
        self._context = context
        self._keys: OrderedDict[str, None] = OrderedDict()
        self.keys: frozenset[str] = frozenset()
        """The ids of the refused commands (without the digest of the request), for a fast look-up."""

    def add(self, culprit: Pending) -> None:
        self._keys[split_id(culprit.submission.id)[0]] = None
        while len(self._keys) > QUARANTINE_MAX:
            self._keys.popitem(last=False)
        self.keys = frozenset(self._keys)
        metrics.QUARANTINED.labels(self._context).inc()
        log.error(
            "command_quarantined",
            context=self._context,
            command=type(culprit.submission.command).__name__,
            id=culprit.submission.id,
            alert=True,
        )
