"""`/api/devices`: phones, their current work, and the attempts of each within a day."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

import msgspec

from drover.api.reads.attempts import Attempt, attempts_of
from drover.api.reads.endpoint import Endpoint, Question, Subject, lists, reads, uuid_in
from drover.api.reads.listing import Key, Listing, Where
from drover.api.reads.parameters import Asked, Kind, moment, one_of, text
from drover.api.reads.queries import QUERIES
from drover.api.reads.records import maker
from drover.api.reads.work import DeviceWork, make_work
from drover.domain.fleet.state import DeviceStatus
from drover.readmodel.fleet.devices import STATUS
from drover.readmodel.fleet.devices import Device as DeviceColumns
from drover.web.errors import invalid
from drover.web.route import in_path

CONTEXT: Final = "fleet"
PATH: Final = "/api/devices"
WINDOW_DEFAULT: Final = timedelta(days=1)
WINDOW_MAX: Final = timedelta(days=31)
ATTEMPT_MAX: Final = timedelta(hours=1)
"""The longest time from the offer to the end of an attempt. The search for attempts starts this much before the
requested window of time."""
ATTEMPT_EVENTS_MAX: Final = 5_000


class Device(DeviceColumns, frozen=True, kw_only=True):
    """A phone."""

    work: DeviceWork | None
    """The current work of the device; null if it has none."""


class Window(msgspec.Struct, rename={"from_": "from"}):
    from_: datetime
    to: datetime


class DeviceDetail(msgspec.Struct):
    """A device, and its attempts within a window of time."""

    device: Device
    reported: Any
    """The last report of the device about itself, unchanged."""
    window: Window
    """The time range of `attempts`."""
    attempts: list[Attempt]
    """Attempts, oldest first, including those that began before the window."""
    attempts_left_out: bool
    """Whether the window has more attempts than the answer holds: the oldest are missing."""


_make_device: Final = maker(Device, columns=DeviceColumns)


def make_device(record: Any) -> Device:
    return _make_device(record, work=None if record["assignment_id"] is None else make_work(record))


DEVICES: Final = Listing(
    "devices",
    CONTEXT,
    Device,
    "rm_fleet.device_rows d",
    key=(Key("serial_number", 'd.serial_number COLLATE "C"', str, "text"),),
    wheres=(
        Where(text("pc_id", "On this PC."), "d.pc_id = {}"),
        Where(text("group_id", "Of this group, such as P1-G1."), "d.group_id = {}"),
        Where(
            one_of("status", [*DeviceStatus], "In one of these states.", many=True),
            words={
                DeviceStatus.ERROR: "d.error_rule IS NOT NULL",  # the same predicate as the index of devices in error
                DeviceStatus.BUSY: f"rm_fleet.{STATUS} = 'busy'",
                DeviceStatus.ONLINE: f"rm_fleet.{STATUS} = 'online'",
                DeviceStatus.OFFLINE: f"rm_fleet.{STATUS} = 'offline'",
            },
        ),
        Where(
            text("serial", "Its serial number begins with this.", chars_max=32),
            # Serial numbers are A to Z and 0 to 9; a tilde sorts after all of them.
            "d.serial_number COLLATE \"C\" BETWEEN {0} AND {0} || '~'",
        ),
    ),
    make=make_device,
    descending=False,
)

_WINDOW_KINDS: Final[tuple[Kind, ...]] = (
    moment("from", "Attempts from then on; default: a day before `to`."),
    moment("to", "Attempts until then; default: now."),
)


class Devices(Subject):
    devices = lists(DEVICES, PATH, id="listDevices", tag="fleet", summary="Devices by serial number")

    def __init__(self, endpoint: Endpoint, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        super().__init__(endpoint)
        self._now = now

    @reads(
        f"{PATH}/{{id}}",
        id="getDevice",
        tag="fleet",
        summary="A device, its work, and its attempts within a time range",
        answer=DeviceDetail,
        contexts=(CONTEXT,),
        kinds=_WINDOW_KINDS,
        parameters=(in_path("id", UUID, "Its id."),),
        errors=(404,),
    )
    async def detail(self, question: Question) -> DeviceDetail:
        models, device_id, window = self._endpoint.models, uuid_in(question.request, "id"), self._window(question.asked)
        device = await DEVICES.one(models, "Device", "d.id = $1", device_id)
        reported = await models.fetch_one(CONTEXT, QUERIES["device_reported"], device_id)
        since = window.from_ - ATTEMPT_MAX
        events = await models.fetch(
            CONTEXT, QUERIES["device_attempts"], device_id, since, window.to, ATTEMPT_EVENTS_MAX + 1
        )
        attempts = attempts_of(reversed(events[:ATTEMPT_EVENTS_MAX]))
        return DeviceDetail(
            device,
            None if reported is None or reported["reported"] is None else msgspec.Raw(reported["reported"]),
            window,
            [attempt for attempt in attempts if attempt.ended_at is None or attempt.ended_at >= window.from_],
            len(events) > ATTEMPT_EVENTS_MAX,
        )

    def _window(self, asked: Asked) -> Window:
        to = asked["to"] or self._now()
        from_ = asked["from"] or to - WINDOW_DEFAULT
        if not timedelta(0) < to - from_ <= WINDOW_MAX:
            raise invalid(f"from: it must be before `to`, by at most {WINDOW_MAX.days} days", field="from")
        return Window(from_, to)
