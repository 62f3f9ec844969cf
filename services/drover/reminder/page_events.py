"""Receives reports of deleted pages from other programs over NATS: requests on `ext.pages.deleted`.

The answer is sent when the alarms are deleted. A caller that gets none can repeat the request.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import msgspec
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from drover.bus.subscription import subscribed
from drover.reminder.edge.alarms import PAGES_MAX, delete_pages
from drover.reminder.faults import report
from drover.web.commands import Origin, PartitionedClient
from drover.web.errors import ApiError

SUBJECT: Final = "ext.pages.deleted"
QUEUE: Final = "drover-reminder"
"""The name of the queue group: only one of all processes gets each request."""

log = structlog.get_logger("alarm")

_ORIGIN: Final = Origin(by="pages", route=SUBJECT)


class PagesDeleted(msgspec.Struct, forbid_unknown_fields=True):
    page_ids: list[str]
    user_id: str | None = None


_decode: Final = msgspec.json.Decoder(PagesDeleted).decode


@asynccontextmanager
async def listening(client: Client, clients: PartitionedClient) -> AsyncIterator[None]:
    async def on_message(message: Msg) -> None:
        answer = await _answer(clients, message.data)
        if message.reply:
            with suppress(NatsError, OSError):
                await message.respond(msgspec.json.encode(answer))

    async with subscribed(client, SUBJECT, on_message, queue=QUEUE):
        yield


async def _answer(clients: PartitionedClient, data: bytes) -> dict[str, Any]:
    try:
        told = _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        log.warning("page_event_unreadable", error=str(error))
        return {"error": "VALIDATION_ERROR", "message": str(error)}
    if len(told.page_ids) > PAGES_MAX:
        return {"error": "VALIDATION_ERROR", "message": f"At most {PAGES_MAX} pages at once"}
    try:
        deleted, _ = await delete_pages(clients, told.page_ids, told.user_id, _ORIGIN)
    except ApiError as error:
        if error.status >= 500:
            report("batch_update", "pages_not_deleted", code=error.code)
        return {"error": error.code, "message": error.message}
    return {"deleted": deleted}
