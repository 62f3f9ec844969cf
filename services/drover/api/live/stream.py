"""The content of one client's event stream: first an event `hello`, then every event that matches the client's
filter."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Final

import msgspec

from drover.api.live.follower import Follower, Told
from drover.api.live.metrics import EVENTS
from drover.api.live.place import Place, format_id, format_position
from drover.api.live.selection import Selection
from drover.api.live.tail import Bell
from drover.web.sse import HEARTBEAT_S, RETRY_MS, Chunk, event

PAUSE_S: Final = 0.05
"""Pause in seconds after sending events, so that the next ones are sent together. After a quiet time, the first is sent
at once."""


class Hello(msgspec.Struct):
    """The first event of a stream, `hello`. Its id is the start position, so a client can resume from it at once."""

    position: str
    """The stream begins after this position."""
    min_position: str
    """The value for `Drover-Min-Position`: a client that reads with it and then applies this stream misses nothing."""
    contexts: list[str]
    heartbeat_s: float


async def chunks(
    followers: Sequence[Follower], wanted: Selection, bell: Bell, *, pause_s: float = PAUSE_S
) -> AsyncGenerator[Chunk, None]:
    """Produce the chunks of the stream, without end. The caller requests the next chunk when the previous one was
    sent."""
    yield _hello(followers)
    while True:
        grown = bell.listen()
        is_quiet = True
        for follower in followers:
            if told := await follower.take():
                is_quiet = False
                yield _chunk(followers, follower, told, wanted)
        if is_quiet:
            await grown.wait()
        elif not any(follower.is_behind for follower in followers):
            await asyncio.sleep(pause_s)


def _hello(followers: Sequence[Follower]) -> Chunk:
    places = _places(followers)
    id_ = format_id(places)
    hello = Hello(id_, format_position(places), [*places], HEARTBEAT_S)
    return Chunk(event("hello", msgspec.json.encode(hello), id=id_, retry_ms=RETRY_MS), id_)


def _chunk(followers: Sequence[Follower], mover: Follower, told: list[Told], wanted: Selection) -> Chunk:
    places = _places(followers)
    id_ = format_id(places)
    frames = []
    for commit in told:
        for record in commit.records:
            if wanted(record):
                places[mover.context] = Place(commit.seq, record.line)
                frames.append(event(record.type, record.raw, id=format_id(places)))
    EVENTS.inc(len(frames))
    return Chunk(b"".join(frames), id_)


def _places(followers: Sequence[Follower]) -> dict[str, Place]:
    return {follower.context: follower.place for follower in followers}
