"""A message of the stream as a commit. What no writer put there is none: it keeps its position, and says nothing.

NATS lets whoever may ask something name any subject for the answer, so an answer can land in a log. It has no id of a
commit. Nobody may stop at it: the log cannot be mended, and would be at its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

import structlog

from drover.eventlog import metrics
from drover.eventlog.log import StoredCommit
from drover.eventlog.stamp import stored_at

COMMIT_HEADER: Final = "Drover-Commit"
EPOCH_HEADER: Final = "Drover-Epoch"

log = structlog.get_logger("drover.eventlog")


def stored_commit(stream: str, seq: int, headers: Mapping[str, str], by_server: datetime, data: bytes) -> StoredCommit:
    commit_id = headers.get(COMMIT_HEADER)
    if commit_id:
        epoch = int(headers.get(EPOCH_HEADER, "0"))
        return StoredCommit(seq, commit_id, epoch, stored_at(headers, by_server), data)
    metrics.FOREIGN.labels(stream).inc()
    log.error("not_a_commit", stream=stream, seq=seq, bytes=len(data), what_to_do="find out who may write there")
    return StoredCommit(seq, "", 0, stored_at(headers, by_server), b"")
