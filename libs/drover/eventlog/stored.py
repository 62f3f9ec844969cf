"""Turns a message of the stream into a commit. Messages of other programs become empty commits.

Such messages can occur: a NATS client may name any subject as the reply subject of a request, so a reply can end up in
the log. It has no commit id. Readers must skip it: nobody can remove it, so they would stop there for ever.
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
EXPECTED_HEADER: Final = "Nats-Expected-Last-Subject-Sequence"
"""The header with the sequence of the commit before this one in its partition; 0 if there is none. The server refuses
the message if this is not the partition's last commit. It stores the header with the message."""
PREVIOUS_HEADER: Final = "Drover-Previous"
"""The header with the same sequence in a commit that was restored (`refill`). The server does not check it, because the
commit before may no longer be in the stream."""

log = structlog.get_logger("drover.eventlog")


def stored_commit(stream: str, seq: int, headers: Mapping[str, str], by_server: datetime, data: bytes) -> StoredCommit:
    commit_id = headers.get(COMMIT_HEADER)
    if commit_id:
        epoch = int(headers.get(EPOCH_HEADER, "0"))
        return StoredCommit(seq, commit_id, epoch, stored_at(headers, by_server), data)
    metrics.FOREIGN.labels(stream).inc()
    log.error("not_a_commit", stream=stream, seq=seq, bytes=len(data), what_to_do="find out who may write there")
    return StoredCommit(seq, "", 0, stored_at(headers, by_server), b"")


def previous_seq(headers: Mapping[str, str]) -> int | None:
    """Return the sequence of the commit before this one in its partition. None: the message does not say it."""
    text = headers.get(PREVIOUS_HEADER) or headers.get(EXPECTED_HEADER)
    return int(text) if text and text.isdecimal() else None
