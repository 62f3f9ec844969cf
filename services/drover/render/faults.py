"""Maps errors of a run to faults. `domain.render.policy` says for each fault whether and how it is retried."""

from __future__ import annotations

from collections.abc import Sequence
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
from drover.service.subject_sealing import Erased

NAMED_MAX: Final = 5
"""Maximum of missing images that the message of ImageMissing names."""


class TemplateMissing(DroverError):
    """After Effects has no project file for this composition."""


class ImageMissing(DroverError):
    """A picture that gfx_data names is not in the image folder."""

    def __init__(self, images: Sequence[str], folder: str) -> None:
        self.images = images
        named, more = ", ".join(images[:NAMED_MAX]), len(images) - NAMED_MAX
        where = f"in {folder}" if folder else "because DROVER_RENDER_IMAGE_DIR is not set"
        super().__init__(f"Image not found {where}: {named}{f' and {more} more' if more > 0 else ''}")


class MappingMissing(DroverError):
    """No field of gfx_data has a layer in this composition."""


class RenderError(DroverError):
    """nexrender reports that the render failed."""


class RenderLost(DroverError):
    """nexrender no longer knows the job."""


FAULTS: Final[dict[type[DroverError], Fault]] = {
    NexrenderDown: Fault.NEXRENDER_DOWN,
    NexrenderConfused: Fault.NEXRENDER_DOWN,  # a proxy's error page or a truncated answer: mostly temporary
    NexrenderForbidden: Fault.NEXRENDER_REFUSED,
    NexrenderRefused: Fault.NEXRENDER_REFUSED,
    TemplateMissing: Fault.TEMPLATE_MISSING,
    ImageMissing: Fault.IMAGE_MISSING,
    MappingMissing: Fault.MAPPING_MISSING,
    GfxDataInvalid: Fault.GFX_DATA_UNREADABLE,
    UnknownSealingKey: Fault.GFX_DATA_UNREADABLE,
    SealDamaged: Fault.GFX_DATA_UNREADABLE,
    Erased: Fault.GFX_DATA_UNREADABLE,
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
