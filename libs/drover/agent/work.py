"""The work of one run, as the function that does it sees it, and the ways in which it can end."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from drover.agent.protocol import Job, Offer
from drover.domain.errors import DroverError
from drover.domain.fleet.policy import DURATION_S_MAX, ERROR_CODE_PATTERN, MESSAGE_BYTES_MAX

CHECKPOINT_BYTES_MAX: Final = 64 * 1024
UNKNOWN: Final = "E4001"
"""The error code of an exception that is no `WorkFailed`."""

_CODE: Final = re.compile(ERROR_CODE_PATTERN)


class WorkFailed(DroverError):
    """Raise it to report that the work has failed. The code says what Drover does next: docs/operating-the-farm.md
    lists all codes."""

    def __init__(
        self, code: str, message: str = "", *, screenshot_ref: str | None = None, activity_stack: str | None = None
    ) -> None:
        if not _CODE.fullmatch(code):
            raise ValueError(f"{code!r} is no error code: use up to 64 letters, digits and _ . -, as in APP_CRASH")
        super().__init__(f"{code}: {message}" if message else code)
        self.code = code
        self.message = _encodable(message[:MESSAGE_BYTES_MAX])
        self.screenshot_ref = None if screenshot_ref is None else _encodable(screenshot_ref)
        self.activity_stack = None if activity_stack is None else _encodable(activity_stack)

    @classmethod
    def by(cls, error: BaseException) -> WorkFailed:
        """Make the failure that an exception means: itself, or an unknown error."""
        return error if isinstance(error, cls) else cls(UNKNOWN, f"{type(error).__name__}: {error}")


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What the work did. Return it if there is something to report beyond "completed"."""

    did_like: bool = False
    did_comment: bool = False
    did_playlist: bool = False
    duration_s: float | None = None
    """How long the work took, up to a week. None: the time that the function ran, without pauses."""

    def __post_init__(self) -> None:
        if self.duration_s is not None and not self.duration_s <= DURATION_S_MAX:
            raise ValueError(f"duration_s is at most {DURATION_S_MAX}, not {self.duration_s}")


class Step(NamedTuple):
    """What one call of `Work.progress` says."""

    pct: float
    checkpoint: dict[str, Any] | None
    ad_playing: bool
    popup_closed: bool


Upload = Callable[[bytes], Awaitable[str | None]]
"""Sends a picture to the platform, and returns the reference of it; None if it was not kept."""


async def _keep_nothing(picture: bytes) -> str | None:
    return None


class Work:
    """One run of an assignment. The platform has recorded its start before the function is called.

    If the platform ends the run, the function is cancelled: `asyncio.CancelledError` is raised where it waits.
    """

    def __init__(
        self,
        offer: Offer,
        serial: str,
        note: Callable[[Step], Awaitable[None]],
        *,
        progress_pct: float = 0,
        checkpoint: Mapping[str, Any] | None = None,
        upload: Upload = _keep_nothing,
    ) -> None:
        self.id = offer.id
        """The id of the assignment: this job on this phone."""
        self.run = offer.run
        """The number of the run. It grows each time that the assignment is handed out."""
        self.attempt = offer.retry_count + 1
        """Which try this is: 1 to 3."""
        self.job: Job = offer.job
        self.job_id = offer.job_id
        self.serial = serial
        """The serial number of the phone."""
        self.progress_pct = progress_pct
        """The progress so far. Above 0 at the start: an earlier process began this run, and stored this progress."""
        self.checkpoint: Mapping[str, Any] = checkpoint or {}
        """What `progress` stored last, also by an earlier process. Empty: nothing."""
        self._note = note
        self._upload = upload

    async def progress(
        self,
        pct: float,
        *,
        checkpoint: Mapping[str, Any] | None = None,
        ad_playing: bool = False,
        popup_closed: bool = False,
    ) -> None:
        """Note the progress, from 0 to 100. Call it as often as you like: it is stored and reported when it has grown
        by ten points, and every 15 seconds.

        `checkpoint`: data of your own (what JSON can hold, up to 64 KiB) from which to go on after a crash. It is
        stored before this returns. `ad_playing`, `popup_closed`: why the progress stands still (docs/agents.md). After
        five minutes without a connection, this waits until the platform has said whether the work is still wanted.
        """
        if not 0 <= pct <= 100:
            raise ValueError(f"progress is from 0 to 100, not {pct}")
        stored = None if checkpoint is None else dict(checkpoint)
        if stored is not None:
            size = len(msgspec.json.encode(stored))
            if size > CHECKPOINT_BYTES_MAX:
                raise ValueError(f"a checkpoint has at most {CHECKPOINT_BYTES_MAX} bytes as JSON, not {size}")
            self.checkpoint = stored
        self.progress_pct = pct
        await self._note(Step(pct, stored, ad_playing, popup_closed))

    async def upload(self, picture: bytes) -> str | None:
        """Upload a screenshot: the bytes of a PNG, JPEG or WebP, up to 2 MiB. Returns the `screenshot_ref` for
        `WorkFailed`.

        None: the picture was not kept, and the log says why. It is tried once, for at most 10 seconds: the report of
        the failure is more important than its picture.
        """
        return await self._upload(picture)


Handler = Callable[[Work], Awaitable[Result | None]]
"""Does the work: returns when it is completed, or raises `WorkFailed`."""


def _encodable(text: str) -> str:
    """Replace what UTF-8 cannot have: a name of a file, and so an exception, may contain half a character."""
    return text.encode(errors="replace").decode()
