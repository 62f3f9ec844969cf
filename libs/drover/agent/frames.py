"""Encodes and decodes the frames of the agents' WebSocket (docs/agents.md), on the side of the agent."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

import msgspec

from drover.agent.protocol import Answer, Heartbeat, Holding, Offer


class Device(msgspec.Struct):
    id: str
    serial_number: str


class Verdict(msgspec.Struct):
    assignment_id: str
    run: int
    verdict: str


class Welcome(msgspec.Struct, tag="welcome"):
    devices: list[Device]
    holding: list[Verdict] = []

    def verdicts(self) -> list[tuple[str, int, str]]:
        return [(one.assignment_id, one.run, one.verdict) for one in self.holding]


class Offered(msgspec.Struct, tag="offer"):
    assignment: Offer


class Withdrawn(msgspec.Struct, tag="withdrawn"):
    assignment_id: str
    run: int
    reason: str | None = None


class Done(msgspec.Struct, tag="done"):
    ref: int


class Refused(msgspec.Struct, tag="refused"):
    ref: int
    status: int
    code: str | None = None
    message: str | None = None
    retry_after_s: float | None = None

    def answer(self) -> Answer:
        return Answer(self.status, self.retry_after_s, code=self.code)


class Bye(msgspec.Struct, tag="bye"):
    reason: str | None = None
    reconnect_after_s: float = 1.0


class Complaint(msgspec.Struct, tag="error"):
    code: str | None = None
    message: str | None = None


Frame = Welcome | Offered | Withdrawn | Done | Refused | Bye | Complaint

_decoder: Final[msgspec.json.Decoder[Frame]] = msgspec.json.Decoder(Frame)
_encoder: Final = msgspec.json.Encoder()


def decode(text: str) -> Frame:
    """Decode a frame of the platform. Raises msgspec.DecodeError if it is invalid."""
    return _decoder.decode(text)


def hello(subject: dict[str, str], holding: Iterable[Holding]) -> str:
    """Encode the first frame of a socket. `subject`: the serial number of a phone, or the id of a PC."""
    return _text({"type": "hello", **subject, "holding": [held._asdict() for held in holding]})


def heartbeat(serial_number: str, beat: Heartbeat, seen_at: datetime) -> str:
    return _text({"type": "heartbeat", "serial_number": serial_number, **beat.body(seen_at)})


def report(ref: int, assignment_id: str, body: dict[str, Any]) -> str:
    return _text({"type": "report", "ref": ref, "assignment_id": assignment_id, **body})


def _text(frame: dict[str, Any]) -> str:
    return _encoder.encode(frame).decode()
