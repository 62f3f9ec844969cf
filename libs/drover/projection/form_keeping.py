"""What a projector does for its form of a read model besides projecting: it notes that the form is in use, points the
views of SQL readers to it, and drops forms that nobody uses."""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from drover.postgres.errors import POSTGRES_AWAY
from drover.postgres.pool import connect
from drover.projection.old_forms import drop_unused_forms
from drover.projection.projection import Projection
from drover.projection.read_model import note_use
from drover.projection.reader_views import ensure_reader_views

EVERY_S: Final = 60.0

log = structlog.get_logger("drover.projection")


async def keep_form(dsn: str, projection: Projection, reader_schema: str | None) -> None:
    """Every minute, note that the form is in use, renew the views, and drop unused forms. This uses a connection of its
    own, so that the projection does not wait for it."""
    while True:
        await asyncio.sleep(EVERY_S)
        try:
            async with connect(dsn, f"drover-forms {projection.name}") as connection:
                await note_use(connection, [projection.schema])
                if reader_schema is not None:
                    await ensure_reader_views(connection, projection, reader_schema)
                await drop_unused_forms(connection, projection)
        except POSTGRES_AWAY as error:
            log.warning("form_not_kept", projection=projection.name, why=repr(error))
