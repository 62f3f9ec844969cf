"""All settings, by section. This module imports no service, so that simple commands start fast."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from drover.api.identity.settings import IdentitySettings
from drover.archiver.settings import ArchiverSettings
from drover.cleanup.settings import CleanupSettings
from drover.evidence.settings import EvidenceSettings
from drover.gateway.settings import GatewaySettings
from drover.nas.settings import NasSettings
from drover.notifier.settings import AlertSettings
from drover.projector.settings import ProjectorSettings
from drover.reminder.settings import ReminderSettings
from drover.render.settings import RenderPolicySettings, RenderSettings
from drover.service.config import Configuration, Section, Settings, fields_of, read
from drover.service.render_capacity import RenderCapacity

SECTIONS: Final[tuple[type[Section], ...]] = (
    Settings,
    IdentitySettings,
    GatewaySettings,
    EvidenceSettings,
    RenderSettings,
    RenderPolicySettings,
    RenderCapacity,
    NasSettings,
    CleanupSettings,
    ReminderSettings,
    ProjectorSettings,
    AlertSettings,
    ArchiverSettings,
)
FIELDS: Final = fields_of(*SECTIONS)
"""The fields of all settings, by the names of their environment variables."""


def load(environ: Mapping[str, str], *, without: Collection[str] = ()) -> Configuration:
    """Load all settings. Raises ConfigurationError that names every problem at once."""
    return read(environ, *SECTIONS, without=without)
