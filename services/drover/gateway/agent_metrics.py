"""Metrics of the agents' sockets. The number of open sockets is counted in `web.sockets`. All labels have few
values."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from prometheus_client import Counter, Gauge

from drover.gateway import agent_protocol as frames

CLOSED: Final = Counter(
    "drover_gateway_agent_sockets_closed_total", "Sockets that the server closed, by code", ["code"]
)
OFFERS_PUSHED: Final = Counter("drover_gateway_offers_pushed_total", "Offers pushed to agents over their sockets")
DELIVERIES: Final = Gauge("drover_gateway_deliveries", "Offers being recorded as sent and pushed")
_FRAMES: Final = Counter(
    "drover_gateway_agent_frames_total", "Frames on agents' sockets, by direction and type", ["direction", "type"]
)


def _meters(direction: str, *shapes: type[msgspec.Struct]) -> dict[Any, Counter]:
    return {shape: _FRAMES.labels(direction, shape.__struct_config__.tag) for shape in shapes}


FRAMES_IN: Final = _meters("in", frames.Hello, frames.Beat, frames.Report, frames.BadFrame)
"""The counter of each class of received frames. Made once: heartbeats are too frequent to look up labels each time."""
FRAMES_OUT: Final = _meters(
    "out",
    frames.Welcome,
    frames.Offer,
    frames.Withdrawn,
    frames.Done,
    frames.Refused,
    frames.Bye,
    frames.Fault,
)
