"""The settings of the projector."""

from __future__ import annotations

from typing import Final

from drover.service.config import Section
from drover.service.setting_types import SqlSchema

NO_SCHEMA: Final = "none"


class ProjectorSettings(Section, frozen=True, kw_only=True):
    """What the projector offers besides the read models."""

    reader_schema: SqlSchema = "public"
    """The schema of the views for people who read with SQL (`SELECT … FROM render_queue`). Other objects in it are left
    alone. none: no views."""
