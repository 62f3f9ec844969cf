"""Which fault of the table (`domain.render.policy`) each error is."""

from __future__ import annotations

from typing import Final

from drover.domain.errors import DroverError
from drover.domain.render.assets import GfxDataInvalid
from drover.domain.render.policy import Fault
from drover.nas.store import CopyMismatch, NasAway, NasFull, SourceUnreadable
from drover.render.local_disk import FolderAway
from drover.render.nexrender.errors import (
    NexrenderConfused,
    NexrenderDown,
    NexrenderForbidden,
    NexrenderRefused,
)
from drover.render.nexrender.paths import PathUnusable
from drover.render.validation import OutputInvalid
from drover.service.sealing import SealDamaged, UnknownSealingKey


class TemplateMissing(DroverError):
    """After Effects has no project file for this composition."""


class MappingMissing(DroverError):
    """Not one field of gfx_data has a layer in this composition."""


class RenderError(DroverError):
    """nexrender says that the render went wrong."""


class RenderLost(DroverError):
    """nexrender does not know the job any more."""


FAULTS: Final[dict[type[DroverError], Fault]] = {
    NexrenderDown: Fault.NEXRENDER_DOWN,
    NexrenderConfused: Fault.NEXRENDER_DOWN,  # a proxy's page, half an answer: most of it passes
    NexrenderForbidden: Fault.NEXRENDER_REFUSED,
    NexrenderRefused: Fault.NEXRENDER_REFUSED,
    TemplateMissing: Fault.TEMPLATE_MISSING,
    MappingMissing: Fault.MAPPING_MISSING,
    GfxDataInvalid: Fault.GFX_DATA_UNREADABLE,
    UnknownSealingKey: Fault.GFX_DATA_UNREADABLE,
    SealDamaged: Fault.GFX_DATA_UNREADABLE,
    PathUnusable: Fault.GFX_DATA_UNREADABLE,
    RenderError: Fault.RENDER_ERROR,
    RenderLost: Fault.RENDER_LOST,
    OutputInvalid: Fault.OUTPUT_INVALID,
    SourceUnreadable: Fault.OUTPUT_INVALID,
    FolderAway: Fault.OUTPUT_INVALID,
    NasAway: Fault.NAS_AWAY,
    NasFull: Fault.NAS_AWAY,
    CopyMismatch: Fault.NAS_AWAY,
}


def fault_of(error: DroverError) -> Fault | None:
    return next((FAULTS[type_] for type_ in type(error).__mro__ if type_ in FAULTS), None)
