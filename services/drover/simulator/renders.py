"""Requests renders from the platform, for a made-up broadcast whose graphics change all the time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import count
from random import Random
from typing import Any, Final

import structlog

from drover.agent.clock import Clock
from drover.simulator.http import Client

LOOK_EVERY_S: Final = 15.0
RENDERS_WAITING_MAX: Final = 50
COMPOSITIONS: Final = {
    "chip_count": ("_MAIN Mini Chip Count", 4),
    "payouts": ("_SUB Payouts", 3),
    "bio": ("_SUB Player Bio", 1),
}
"""For each composition: its name in After Effects, and its number of slots."""
PLAYERS: Final = ("A. MORI", "B. KIM", "C. SILVA", "D. NOVAK", "E. JANSEN", "F. ROSSI", "G. OKAFOR", "H. LINDQVIST")
COUNTRIES: Final = ("South Korea", "Japan", "Brazil", "Norway", "Italy", "Nigeria", "United States")
SLIP_EVERY: Final = 9
"""One request in this many has a field for which there is no layer."""

log = structlog.stdlib.get_logger(__name__)


def compositions() -> list[dict[str, str]]:
    """Return the compositions with their names in After Effects."""
    return [{"id": composition, "name": name} for composition, (name, _) in COMPOSITIONS.items()]


def mappings() -> list[dict[str, str]]:
    """Return which field goes to which layer, for every composition."""
    return [
        {"composition_id": composition, "field_name": field, "layer_name": layer}
        for composition, (_, slots) in COMPOSITIONS.items()
        for field, layer in [
            *(
                (f"Slot {n} - {field}", f"{field.title()} {n}")
                for n in range(1, slots + 1)
                for field in ("name", "stack")
            ),
            ("Single - table_id", "Table"),
        ]
    ]


def requests(seed: int) -> Iterator[dict[str, Any]]:
    """Generate requests without end. The same seed gives the same requests."""
    dice = Random(f"{seed} renders")
    for number in count(1):
        composition = dice.choice(list(COMPOSITIONS))
        name, slots = COMPOSITIONS[composition]
        players = dice.sample(PLAYERS, slots)
        fields: list[dict[str, Any]] = [
            {"name": player, "stack": dice.randrange(10, 4000, 5), "country": dice.choice(COUNTRIES)}
            for player in players
        ]
        if number % SLIP_EVERY == 0:
            fields[0]["nickname"] = "THE SLIP"
        yield {
            "composition_id": composition,
            "composition_name": name,
            "cue_item_id": number,
            "gfx_data": {
                "composition_name": name,
                "slots": [{"slot_number": n, "fields": slot} for n, slot in enumerate(fields, 1)],
                "single_fields": {"table_id": f"Table {dice.randint(1, 6)}"},
            },
        }


class Director:
    """Checks every few seconds whether enough renders are waiting or running, and requests one if not."""

    def __init__(self, client: Client, clock: Clock, orders: Iterator[dict[str, Any]], *, waiting: int) -> None:
        assert 0 < waiting <= RENDERS_WAITING_MAX
        self._client = client
        self._clock = clock
        self._orders = orders
        self._waiting = waiting

    async def run(self) -> None:
        """Request renders for ever. A refused request is not retried: the next check requests another render."""
        for composition in compositions():
            await self._client.create("aep_compositions", composition)
        for mapping in mappings():
            await self._client.create("aep_field_mapping", mapping)  # 409 after a restart: it exists already
        while True:
            answer, unfinished = await self._client.unfinished_renders()
            if answer.ok and unfinished < self._waiting:
                answer = await self._client.create("render_queue", next(self._orders))
            if not answer.ok:
                log.warning("no_render_requested", status=answer.status, code=answer.code)
            await asyncio.sleep(self._clock.real_s(LOOK_EVERY_S))
