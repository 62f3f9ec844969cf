"""Puts one of everything into a platform, so that requests are about something that is there."""

from __future__ import annotations

from typing import Any, Final

from tests.e2e.client import Answer, Http
from tests.e2e.farmhand import Farmhand, hire, order
from tests.unit.evidence.pictures import png

PC: Final = "pc-1"
USER: Final = "fuzzed"
PAGE: Final = "fuzzed-page"
WHOLE: Final = {"Prefer": "return=representation"}


async def fill(http: Http, admin: dict[str, str], serials: tuple[str, str]) -> list[str]:
    """Make two phones, of which one failed with a picture and an alert, a render, a test, a reminder and an enrolment
    code. Returns the ids of the phones."""
    hands = [await hire(http, serial, pc=PC) for serial in serials]
    await _fail(http, hands[0])
    mapping = {"composition_id": "comp", "field_name": "Single - name", "layer_name": "Name 1"}
    await made(http, "/rest/v1/aep_field_mapping", mapping)
    await render(http)
    await made(http, "/api/saju/users", {"user_id": USER, "remaining_tests": 100})
    await made(http, "/api/saju/tests", {"user_id": USER})
    await made(http, "/api/reminder/register-by-page", {"page_id": PAGE, "user_id": USER, "title": "Fuzzed"})
    await made(http, "/api/enrolments", {"pc_id": PC}, headers=admin)
    return [hand.device_id for hand in hands]


async def _fail(http: Http, hand: Farmhand) -> None:
    await order(http, hand, title="Fuzzed")
    work = await hand.work()
    assert (await hand.report(work, "running")).status == 204
    reference = await picture(http, work["id"])
    told = {"error_code": "OUT_OF_MEMORY", "screenshot_ref": reference}
    assert (await hand.report(work, "failed", **told)).status == 204


async def picture(http: Http, assignment_id: str) -> str:
    """Send the picture of a failure. Returns its reference, which is its path."""
    answer = await http.call("POST", f"/agent/v1/assignments/{assignment_id}/evidence", data=png())
    assert answer.status == 201, answer
    return answer.json["screenshot_ref"]


async def render(http: Http) -> None:
    """Request a render, and cancel it: only what has ended can be erased."""
    wanted = {"composition_id": "comp", "gfx_data": {"single_fields": {"name": "Fuzzed"}}}
    (row,) = (await made(http, "/rest/v1/render_queue", wanted, headers=WHOLE)).json
    ended = await http.call("PATCH", f"/rest/v1/render_queue?id=eq.{row['id']}", json={"status": "cancelled"})
    assert ended.status in (200, 204), ended


async def made(http: Http, path: str, body: Any, **how: Any) -> Answer:
    answer = await http.call("POST", path, json=body, **how)
    assert answer.status == 201, answer
    return answer
