"""What workers say stands in the log, in rows and on screens: bounded, and without what is secret."""

from __future__ import annotations

import json

import msgspec
import pytest

from drover.domain.render import events as e
from drover.domain.render.state import Status
from drover.nas.smb_share import Account
from drover.render.nexrender.errors import NexrenderRefused
from drover.render.nexrender.states import Stage, shortened
from drover.render.preparation import Prepared


def everything_said(shop):
    return msgspec.json.encode([event for event in shop.office.events if not isinstance(event, e.RenderRequested)])


@pytest.mark.req("RN-17")
@pytest.mark.parametrize("by", ["refusal", "error"])
def test_what_nexrender_repeats_of_gfx_data_does_not_come_into_the_log(in_shop, by):
    async def story(shop):
        said = 'invalid job: {"assets":[{"layerName":"Name 1","value":"PHIL IVEY"}]}'
        if by == "error":
            shop.nexrender.script = [([(1, Stage.ERROR, 0)], said, None)]
        else:

            async def refuse(document):
                raise NexrenderRefused("submit", 400, said)

            shop.nexrender.submit = refuse
        shop.request()
        shop.start()
        await shop.until_status(Status.FAILED)
        assert b"PHIL IVEY" not in everything_said(shop)
        (failed,) = shop.office.told(e.RenderFailed)
        assert "invalid job" in failed.message and "Name 1" in failed.message

    in_shop(story)


SECRET = 'PHIL "NO HOME" IVEY,\n  필 아이비'


@pytest.mark.req("RN-17", "SE-09")
@pytest.mark.parametrize(
    "said",
    [
        SECRET,
        json.dumps({"value": SECRET}),
        json.dumps({"value": SECRET}, ensure_ascii=False),
        json.dumps({"error": json.dumps({"value": SECRET})}),
        " ".join(SECRET.split()),
        shortened("x" * 70 + json.dumps({"value": SECRET}) + "y" * 90, 120),
        shortened("x" * 90 + json.dumps({"value": SECRET}) + "y" * 25, 120),
        f"its answer is not JSON but {'x' + json.dumps(SECRET)[:20]!r}",
    ],
    ids=["plain", "json", "json in Unicode", "json in json", "in one line", "cut in it", "cut before it", "cut after"],
)
def test_no_piece_of_gfx_data_is_in_a_message_however_it_is_written(said):
    prepared = Prepared({"assets": [{"value": SECRET}]}, "template", [], [])
    shown = prepared.hidden_in(f"nexrender, submit: {said}")
    assert shown.startswith("nexrender, submit: ")
    for piece in ("PHIL", "HOME", "IVEY", "아이비", r"\uc544\uc774\ube44"):
        assert piece not in shown


@pytest.mark.req("RN-06")
def test_of_thousands_of_fields_without_a_layer_some_are_listed_and_the_rest_is_counted(in_shop):
    async def story(shop):
        shop.request({"slots": [{"fields": {"name": "PHIL IVEY", **{f"f{n}": 1 for n in range(950)}}}]})
        shop.start()
        await shop.until_status(Status.COMPLETED)
        (told,) = shop.office.told(e.FieldsUnmapped)
        assert len(told.fields) == 200
        assert told.fields[-1] == "… and 751 more"

    in_shop(story)


@pytest.mark.req("RN-12")
@pytest.mark.parametrize("sealed", ["[" * 60_000, "{not json", '"text"'])
def test_gfx_data_that_nobody_can_read_fails_as_such(in_shop, sealed):
    async def story(shop):
        encode = msgspec.Raw(sealed.encode())
        shop.request(encode)
        shop.start()
        await shop.until_status(Status.FAILED)
        (failed,) = shop.office.told(e.RenderFailed)
        assert failed.fault == "GFX_DATA_UNREADABLE"

    in_shop(story)


@pytest.mark.req("RN-06")
def test_what_stands_where_no_field_belongs_is_no_missing_mapping(in_shop):
    async def story(shop):
        shop.request({"remark": "for the late show", "slots": []})
        shop.start()
        await shop.until_status(Status.COMPLETED)
        (told,) = shop.office.told(e.FieldsUnmapped)
        assert told.fields == ["remark"]

    in_shop(story)


@pytest.mark.req("RN-17")
def test_the_password_of_the_nas_is_hidden_whoever_repeats_it():
    account = Account("STUDIO\\render", "hunter22")
    assert "hunter22" not in account.hidden_in("logon of render/hunter22 failed")
    assert "hunter22" not in repr(account)


@pytest.mark.req("RN-09", "RN-16")
def test_a_sign_of_life_says_which_run_it_is_of(in_shop):
    """So that progress of a run that is over is not shown as that of the present one."""

    async def story(shop):
        shop.request()
        shop.start()
        await shop.until_status(Status.COMPLETED)
        busy = [reported for _, reported in shop.signs.beats if reported["render_id"] is not None]
        assert busy and all(reported["run"] == 1 for reported in busy)
        assert [reported["progress"] for reported in busy][-1] == 100

    in_shop(story)
