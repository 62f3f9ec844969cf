"""The payloads of the frames that a client sends, as far as Drover reads them."""

from __future__ import annotations

from typing import Any, Final

import msgspec


class Broadcasting(msgspec.Struct, frozen=True):
    self: bool | None = False
    ack: bool | None = False


class PresenceConfig(msgspec.Struct, frozen=True):
    key: str | None = None
    enabled: bool | None = True


class Config(msgspec.Struct, frozen=True):
    broadcast: Broadcasting | None = None
    presence: PresenceConfig | None = None
    postgres_changes: list[dict[str, Any]] | None = None
    private: bool | None = False


class Join(msgspec.Struct, frozen=True):
    config: Config | None = None
    access_token: str | None = None


class Token(msgspec.Struct, frozen=True):
    access_token: str | None = None


class Broadcast(msgspec.Struct, frozen=True):
    event: str


class Tracking(msgspec.Struct, frozen=True):
    event: str
    payload: dict[str, Any] | None = None


decode_join: Final = msgspec.json.Decoder(Join).decode
decode_token: Final = msgspec.json.Decoder(Token).decode
decode_broadcast: Final = msgspec.json.Decoder(Broadcast).decode
decode_tracking: Final = msgspec.json.Decoder(Tracking).decode
