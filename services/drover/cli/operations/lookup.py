"""Finds what a person means by an id, the beginning of an id, or the serial number of a phone."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any, Final
from urllib.parse import quote

import msgspec

from drover.cli.errors import IdAmbiguous, NothingFound, NotThere
from drover.cli.operations.client import Client, Row
from drover.cli.operations.formatting import UNTITLED, short_ids

MATCHING_SHOWN_MAX: Final = 5
NEAR_SHOWN_MAX: Final = 3
NEAR_READ_MAX: Final = 200
NEAR_CHARS: Final = 3
"""Ids and serial numbers that begin with the same characters are searched for the one that was meant."""
UUID_DIGITS: Final = 32
USER_AND_PAGE: Final = "/"
"""Separates the user of an alarm from its page: `u1/p1`. Neither id can contain it."""
REMINDERS: Final = "/api/reminders"

_HEX: Final = re.compile(r"[0-9a-f]{1,32}")
_TEXT_ID: Final = re.compile(r"[^*\x00-\x1f\x7f]{1,128}")
_NUMBER: Final = re.compile(r"[1-9]\d{0,17}")
_SERIAL: Final = re.compile(r"[A-Z0-9]{1,32}")


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """Something that people name by an id."""

    name: str
    relation: str
    """Of `/rest/v1`."""
    listing: str
    """The command that lists all."""
    columns: str
    """What is read to find one and to describe it."""
    key: str = "id"
    matches: Callable[[str], dict[str, Any] | None]
    """The filters for a text; None if the text cannot be the beginning of such an id."""
    describe: Callable[[Row], str]
    """Names one in a sentence, without its id. Begins with `of` if it only says whose it is."""
    has_text_key: bool = False
    """Whether its ids are texts that people chose. The database searches for the beginning of one by reading all."""

    def called(self, row: Row) -> str:
        """Name one with its whole id."""
        said = self.describe(row)
        if said.startswith("of "):
            said = f"the {self.name} {said}"
        id_ = str(row[self.key])
        return f"{said} ({id_})" if said else id_


def uuid_range(text: str, column: str = "id") -> dict[str, Any] | None:
    """Return the filters for UUIDs that begin with a text; a range, so that the index of the key is used."""
    digits = text.lower().replace("-", "")
    if not _HEX.fullmatch(digits):
        return None
    low, high = (_as_uuid(digits.ljust(UUID_DIGITS, fill)) for fill in "0f")
    return {"and": f"({column}.gte.{low},{column}.lte.{high})"}


def _as_uuid(digits: str) -> str:
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _of_number(text: str) -> dict[str, Any] | None:
    return {"id": f"eq.{text}"} if _NUMBER.fullmatch(text) else None


def _of_text(column: str) -> Callable[[str], dict[str, Any] | None]:
    def filters(text: str) -> dict[str, Any] | None:
        return {column: f"like.{_escaped(text)}*"} if _TEXT_ID.fullmatch(text) else None

    return filters


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("_", "\\_").replace("%", "\\%")


def title_of(row: Row) -> str:
    return f"“{row.get('title') or UNTITLED}”"


JOB: Final = Kind(
    name="job",
    relation="jobs",
    listing="drover jobs list",
    columns="id,title,status",
    matches=uuid_range,
    describe=title_of,
)
ASSIGNMENT: Final = Kind(
    name="assignment",
    relation="job_assignments",
    listing="drover jobs assignments JOB",
    columns="id,status,jobs(title),devices(serial_number)",
    matches=uuid_range,
    describe=lambda row: f"{title_of(row.get('jobs') or {})} on {(row.get('devices') or {}).get('serial_number', '?')}",
)
DEVICE: Final = Kind(
    name="device",
    relation="devices",
    listing="drover devices list",
    columns="id,serial_number,pc_id,status",
    matches=uuid_range,
    describe=lambda row: str(row["serial_number"]),
)
PC: Final = Kind(
    name="PC",
    relation="pcs",
    listing="drover pcs list",
    columns="id,capacity",
    matches=_of_text("id"),
    has_text_key=True,
    describe=lambda row: "",
)
RENDER: Final = Kind(
    name="render",
    relation="render_queue",
    listing="drover renders list",
    columns="id,composition_name,status",
    matches=_of_number,
    describe=lambda row: f"“{row['composition_name']}”",
)
COMPOSITION: Final = Kind(
    name="composition",
    relation="aep_compositions",
    listing="drover compositions list",
    columns="id,name",
    matches=_of_text("id"),
    has_text_key=True,
    describe=lambda row: f"“{row['name']}”" if row["name"] else "",
)
TEST: Final = Kind(
    name="test",
    relation="saju_tests",
    listing="drover tests list",
    columns="id,user_id,status",
    matches=uuid_range,
    describe=lambda row: f"of {row['user_id']}",
)
ALARM: Final = Kind(
    name="alarm",
    relation="alarm",
    listing="drover alarms list",
    columns="page_id,user_id",
    key="page_id",
    matches=_of_text("page_id"),
    has_text_key=True,
    describe=lambda row: f"of {row['user_id']}",
)


def _open_alerts(text: str) -> dict[str, Any] | None:
    filters = _of_text("id")(text)
    return filters and {**filters, "resolved_at": "is.null"}


ALERT: Final = Kind(
    name="alert",
    relation="alerts",
    listing="drover alerts list",
    columns="id,context,kind,subject",
    matches=_open_alerts,
    has_text_key=True,
    describe=lambda row: str(row["kind"]),
)


async def matching(client: Client, kind: Kind, given: str, *, whole: bool = False) -> list[Row]:
    """Return those whose id is, or begins with, the given text: one more than are shown at most. If one has exactly
    this id, only that one. `whole`: do not search for beginnings of texts."""
    if kind is ALARM and USER_AND_PAGE in given:
        return await _by_user_and_page(client, given)
    serials = [] if kind is not DEVICE else await _by_serial(client, given)
    if len(serials) == 1 and serials[0]["serial_number"] == given.upper():
        return serials
    if (filters := kind.matches(given)) is None:
        return serials
    if kind.has_text_key:
        exact = await client.rows(kind.relation, select=kind.columns, **{kind.key: f"eq.{given}"})
        if exact or whole:
            return exact
    limit = MATCHING_SHOWN_MAX + 1
    found = await client.rows(kind.relation, select=kind.columns, order=kind.key, limit=limit, **filters)
    known = {str(row[kind.key]) for row in found}
    return [*found, *(row for row in serials if str(row[kind.key]) not in known)]


async def find(client: Client, kind: Kind, given: str) -> Row:
    """Return the only one that is meant. Raises NothingFound or IdAmbiguous."""
    found = await matching(client, kind, given)
    if not found:
        raise NothingFound(kind.name, given, await near(client, kind, given), kind.listing)
    if len(found) > 1:
        shown = found[:MATCHING_SHOWN_MAX]
        raise IdAmbiguous(given, [_choice(kind, row, shown) for row in shown], more=len(found) > MATCHING_SHOWN_MAX)
    return found[0]


def _choice(kind: Kind, row: Row, among: Sequence[Row]) -> str:
    """Name one of several by the shortest id that differs from the others."""
    short = short_ids(str(other[kind.key]) for other in among)[str(row[kind.key])]
    state = row.get("status")
    return "  ".join(part for part in (short, kind.describe(row), state) if part)


async def _by_user_and_page(client: Client, given: str) -> list[Row]:
    """Return the alarm `USER/PAGE`. This needs no permission to read users' texts."""
    user_id, _, page_id = given.partition(USER_AND_PAGE)
    try:
        found = await client.get(alarm_path(user_id, page_id))
    except NotThere:
        return []
    return [{"user_id": found["reminder"]["user_id"], "page_id": found["reminder"]["page_id"]}]


def alarm_path(user_id: str, page_id: str) -> str:
    return f"{REMINDERS}/{quote(user_id, safe='')}/{quote(page_id, safe='')}"


async def _by_serial(client: Client, given: str) -> list[Row]:
    """Return the device with this serial number, or those whose serial number begins with it."""
    serial = given.upper()
    if not _SERIAL.fullmatch(serial):
        return []
    exact = await client.rows(DEVICE.relation, select=DEVICE.columns, serial_number=f"eq.{serial}")
    return exact or await _serials_from(client, serial, MATCHING_SHOWN_MAX + 1)


async def _serials_from(client: Client, beginning: str, limit: int) -> list[Row]:
    return await client.rows(
        DEVICE.relation,
        select=DEVICE.columns,
        order="serial_number",
        limit=limit,
        serial_number=f"like.{beginning}*",
    )


async def near(client: Client, kind: Kind, given: str) -> list[str]:
    """Return what could have been meant by an unknown id: ids that differ in a few characters, or jobs whose title has
    the text."""
    if kind is ALARM and USER_AND_PAGE in given:
        return []
    if kind is DEVICE and _SERIAL.fullmatch(given.upper()):
        rows = await _serials_from(client, given.upper()[:NEAR_CHARS], NEAR_READ_MAX)
        serials = [row["serial_number"] for row in rows]
        return get_close_matches(given.upper(), serials, NEAR_SHOWN_MAX)
    if kind is JOB and _TEXT_ID.fullmatch(given):
        titled = await client.rows(
            JOB.relation,
            select=JOB.columns,
            order="created_at.desc",
            limit=NEAR_SHOWN_MAX,
            title=f"ilike.*{_escaped(given)}*",
        )
        if titled:
            return [kind.called(row) for row in titled]
    beginning = kind.matches(given[: max(len(given) // 2, NEAR_CHARS)])
    if beginning is None or kind is RENDER:
        return []
    rows = await client.rows(kind.relation, select=kind.columns, order=kind.key, limit=NEAR_READ_MAX, **beginning)
    by_id = {str(row[kind.key]): row for row in rows}
    return [kind.called(by_id[id_]) for id_ in get_close_matches(given, by_id, NEAR_SHOWN_MAX)]


async def names_of(client: Client, ids: set[str]) -> dict[str, str]:
    """Return the names of those ids that are jobs or devices."""
    known = sorted(ids)
    if not known:
        return {}
    jobs = await client.by_id(JOB.relation, known, select=JOB.columns)
    devices = await client.by_id(DEVICE.relation, known, select=DEVICE.columns)
    return {row["id"]: title_of(row) for row in jobs} | {row["id"]: row["serial_number"] for row in devices}
