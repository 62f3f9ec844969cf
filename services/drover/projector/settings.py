"""The settings of the projector."""

from __future__ import annotations

from typing import Final

from drover.service.config import Section
from drover.service.setting_types import SqlSchema

NO_SCHEMA: Final = "none"


class ProjectorSettings(Section, frozen=True, kw_only=True):
    """What the projector offers beside the read models."""

    reader_schema: SqlSchema = "public"
    """Where people who read with SQL find the tables by their names (`SELECT … FROM render_queue`). Objects of others
    in it are left alone. none: nowhere."""
