"""Opens the logs of a context on a NATS server. Raises an error with a sentence for people if there are none."""

from __future__ import annotations

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js.errors import NotFoundError

from drover.archive.whole_log import open_log
from drover.cli.errors import NoSuchLog
from drover.eventlog.log import EventLog, LogUnreachable
from drover.eventlog.streams import partitions_of
from drover.service.reasons import reason_of


async def logs_of(client: Client, context: str, archive: str | None) -> list[EventLog]:
    """Open the logs of a context, one for each partition. Raises an error for a missing stream, because a reader would
    wait for it for ever. `archive`: where to read commits that are no longer in NATS."""
    try:
        return [open_log(client, partition, archive) for partition in await partitions_of(client, context)]
    except NotFoundError:
        raise NoSuchLog(context) from None
    except (NatsError, OSError) as error:
        raise LogUnreachable(reason_of(error)) from error
