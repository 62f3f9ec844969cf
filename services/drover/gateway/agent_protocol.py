"""The frames on an agent's WebSocket (docs/agents.md): decodes them strictly, and encodes them. It does not check their
order."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from drover.gateway.reports import ReportBody
from drover.gateway.tables.device_bodies import Heartbeat

FRAME_BYTES_MAX: Final = 64 * 1024
HELLO_WITHIN_S: Final = 10.0
HEARTBEAT_EVERY_S: Final = 10
"""The seconds between heartbeats that agents are told to keep. A device counts as silent after 30 s."""
BAD_FRAMES_MAX: Final = 10
HOLDING_MAX: Final = 256
"""Maximum of runs in a `hello`; more are refused. A PC has at most 200 phones, and each of them at most one run."""
REF_MAX: Final = 2**53
"""The largest number (`ref`) that an agent may give a report: every JSON parser keeps integers up to it exact."""
_FAULT_CHARS_MAX: Final = 300


class CloseCode(IntEnum):
    REPLACED = 1000
    """A newer socket of the same device or PC has replaced this one."""
    SILENT = 1001
    TOO_BIG = 1009
    RESTART = 1012
    TOO_SLOW = 1013
    BAD_FRAMES = 4400
    BAD_KEY = 4401
    NOT_ALLOWED = 4403
    UNKNOWN = 4404
    TOO_MANY = 4429
    """The agent sends more although its frames are refused, or it connects too often."""


AssignmentId = Annotated[str, msgspec.Meta(max_length=64)]


# From the agent


class Holding(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A run that the agent says it holds."""

    assignment_id: AssignmentId
    run: Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
    progress_pct: int | None = None


class Hello(msgspec.Struct, tag_field="type", tag="hello", forbid_unknown_fields=True, kw_only=True):
    """The first frame of a socket: which device or PC it speaks for."""

    serial_number: str | None = None
    pc_id: str | None = None
    holding: Annotated[tuple[Holding, ...], msgspec.Meta(max_length=HOLDING_MAX)] = ()


class Beat(Heartbeat, tag_field="type", tag="heartbeat", kw_only=True):
    """A heartbeat. It has the fields of the HTTP request, and the device that it is from."""

    serial_number: str | None = None


class Report(ReportBody, tag_field="type", tag="report", kw_only=True):
    """A report. It has the fields of the HTTP request, and the assignment that it is about."""

    ref: Annotated[int, msgspec.Meta(ge=0, le=REF_MAX)]
    assignment_id: AssignmentId


AgentFrame = Hello | Beat | Report


class BadFrame(msgspec.Struct, tag_field="type", tag="bad", frozen=True):
    """Stands for a received frame that cannot be decoded. It is never sent; its tag is a label of metrics."""

    message: str
    ref: int | None = None
    """The `ref` of the report that the frame was meant to be, for the answer; None if it cannot be read."""


# From the server


class KnownDevice(msgspec.Struct, frozen=True):
    id: str
    serial_number: str


class Verdict(StrEnum):
    CONTINUE = "continue"
    DROP = "drop"


class Judged(msgspec.Struct, frozen=True):
    """Whether the agent may continue a run that it holds."""

    assignment_id: str
    run: int
    verdict: Verdict

    @property
    def goes_on(self) -> bool:
        return self.verdict is Verdict.CONTINUE


class Welcome(msgspec.Struct, tag_field="type", tag="welcome", frozen=True):
    devices: list[KnownDevice]
    holding: list[Judged]
    heartbeat_every_s: int = HEARTBEAT_EVERY_S


class Offer(msgspec.Struct, tag_field="type", tag="offer", frozen=True):
    assignment: dict[str, Any]


class Over(StrEnum):
    """Why a run is withdrawn."""

    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    ROLLED_BACK = "rolled_back"
    FAILED = "failed"
    """The server noticed the failure, or a person recorded it."""


class Withdrawn(msgspec.Struct, tag_field="type", tag="withdrawn", frozen=True):
    assignment_id: str
    run: int
    reason: Over


class Done(msgspec.Struct, tag_field="type", tag="done", frozen=True):
    ref: int


class Refused(msgspec.Struct, tag_field="type", tag="refused", frozen=True):
    ref: int
    status: int
    code: str
    message: str
    details: Any = None
    retry_after_s: int | UnsetType = UNSET
    """How many seconds to wait before the report is sent again, as in the HTTP header Retry-After."""


class Bye(msgspec.Struct, tag_field="type", tag="bye", frozen=True):
    reason: str
    reconnect_after_s: int = 1


class Fault(msgspec.Struct, tag_field="type", tag="error", frozen=True):
    code: str
    message: str
    retry_after_s: int | UnsetType = UNSET
    """With RATE_LIMITED: how many seconds to wait before the next frame of this kind."""


ServerFrame = Welcome | Offer | Withdrawn | Done | Refused | Bye | Fault

_decoder: Final[msgspec.json.Decoder[AgentFrame]] = msgspec.json.Decoder(AgentFrame)
_encoder: Final = msgspec.json.Encoder()


class _Addressed(msgspec.Struct, tag_field="type", tag="report"):
    ref: Annotated[int, msgspec.Meta(ge=0, le=REF_MAX)]


_addressed: Final = msgspec.json.Decoder(_Addressed)


def decode(raw: str) -> AgentFrame | BadFrame:
    """Decode a frame. Never raises an exception: an invalid frame becomes a `BadFrame`."""
    try:
        frame = _decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
        return _bad(raw, "nested too deeply" if isinstance(error, RecursionError) else str(error))
    # PostgreSQL cannot store NUL, so refuse it before it becomes an event.
    if "\\u0000" in raw and any(isinstance(text, str) and "\0" in text for text in msgspec.structs.astuple(frame)):
        return _bad(raw, "Text must not contain the character NUL")
    return frame


def _bad(raw: str, reason: str) -> BadFrame:
    try:
        ref = _addressed.decode(raw).ref
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError):
        ref = None
    return BadFrame(reason[:_FAULT_CHARS_MAX], ref)


def encode(frame: ServerFrame) -> bytes:
    return _encoder.encode(frame)
