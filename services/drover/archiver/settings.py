"""The settings of the archiver."""

from __future__ import annotations

from drover.service.config import Section
from drover.service.setting_types import LogKeep, LongSeconds


class ArchiverSettings(Section, frozen=True, kw_only=True):
    """How often the log is archived, and how much of it stays in NATS."""

    archive_every_s: LongSeconds = 60.0
    """How often new commits are copied to DROVER_ARCHIVE, in seconds."""
    log_keep: LogKeep = "all"
    """How much of the log stays in NATS: `all`, a time such as `30d` or `12h`, or a size for each context such as
    `200GB`. Older commits leave NATS once they are in the archive and nothing needs them there. Needs
    DROVER_ARCHIVE."""
