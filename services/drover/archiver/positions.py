"""The positions of all readers that resume where they stopped. Commits after them stay in NATS.

Other readers need nothing here: those that begin at the end of the log (the audits, the live streams), at a snapshot
(writers, the gateway's roster) or at a time (ended sessions, refund notices). All of them read the archive if they
begin below the bottom.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
from nats.aio.client import Client

from drover.eventlog.bucket import NO_MESSAGE_FOUND, NOTIFIER_BUCKET, position_key
from drover.eventlog.log import LogUnreachable, Partition
from drover.postgres.pool import Pool

REQUEST_S: Final = 5.0
STREAM_NOT_FOUND: Final = 10059
READ_MODEL: Final = "the read model, which does not exist yet"
HISTORY: Final = "the history"
NOTIFIER: Final = "the notifier"
_READ_MODELS: Final = "SELECT partition, schema, seq FROM drover.checkpoints WHERE context = $1"
_HISTORY: Final = """
SELECT partition, max(seq) AS seq FROM drover.fold_checkpoints WHERE context = $1 AND version = $2 GROUP BY partition
"""


class ReaderPositions:
    def __init__(self, client: Client, pool: Pool, version_of: Callable[[str], str]) -> None:
        """`version_of`: returns the version of a context's states. Saved states of other versions do not count: no
        process continues from them."""
        self._client = client
        self._pool = pool
        self._version_of = version_of

    async def of(self, context: str, partitions: Sequence[Partition]) -> dict[str, dict[str, int]]:
        """Return, by partition and then by name of the reader, the sequence of the last commit that the reader has
        handled. Raises an error if Postgres or NATS does not answer: then nothing may be removed."""
        found: dict[str, dict[str, int]] = {partition.name: {} for partition in partitions}
        for row in await self._pool.fetch(_READ_MODELS, context):
            found.setdefault(row["partition"], {})[f"the read model {row['schema']}"] = row["seq"]
        for positions in found.values():
            if not positions:
                positions[READ_MODEL] = 0
        for row in await self._pool.fetch(_HISTORY, context, self._version_of(context)):
            found.setdefault(row["partition"], {})[HISTORY] = row["seq"]
        if (notified := await self._notified(context)) is not None:
            for positions in found.values():
                positions[NOTIFIER] = notified
        return found

    async def _notified(self, context: str) -> int | None:
        """Return the notifier's position; None if it has never run."""
        question = msgspec.json.encode({"last_by_subj": f"$KV.{NOTIFIER_BUCKET}.{position_key(context)}"})
        subject = f"$JS.API.STREAM.MSG.GET.KV_{NOTIFIER_BUCKET}"
        reply = await self._client.request(subject, question, timeout=REQUEST_S)
        answer = msgspec.json.decode(reply.data, type=dict[str, Any])
        if (error := answer.get("error")) is not None:
            if error.get("err_code") in (NO_MESSAGE_FOUND, STREAM_NOT_FOUND):
                return None
            raise LogUnreachable(str(error.get("description")))
        stored = msgspec.json.decode(base64.b64decode(answer["message"].get("data", "")))
        return int(stored["seq"] if isinstance(stored, dict) else stored)
