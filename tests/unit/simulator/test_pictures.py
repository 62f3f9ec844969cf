"""Pictures of simulated failures: what they are, and that they stay few."""

from __future__ import annotations

import zlib
from io import BytesIO
from typing import Any

import pytest
from aiohttp import web
from PIL import Image

from drover.agent.clock import Clock
from drover.agent.protocol import Heartbeat, Report
from drover.evidence.pictures import PictureType, recognise
from drover.simulator.farm import Farm
from drover.simulator.phone import Errand
from drover.simulator.pictures import EVERY_S, Pictures
from drover.simulator.population import Wiring, populate
from drover.simulator.screenshot import HEIGHT, WIDTH, screenshot
from drover.simulator.script import Failure, Script, Show
from drover.testing.waiting import eventually

from .conftest import picture_of
from .test_farm import registered

pytestmark = pytest.mark.usefixtures("clocks_of_the_loop")

FAILING = Script(show=Show(video_s=(20, 20), failures=(Failure("APP_CRASH", "The app closed", 1.0),)))
FAILED = Errand(Report("A", 1, "failed", error_code="APP_CRASH"), 1)


def test_a_screenshot_is_a_small_whole_picture_and_its_name_decides_which():
    picture = screenshot("assignment 1")
    assert recognise(picture) is PictureType.PNG
    assert len(picture) < 2_000
    opened = Image.open(BytesIO(picture))
    opened.load()
    assert opened.size == (WIDTH, HEIGHT)
    assert len(opened.convert("RGB").getcolors()) >= 5
    assert screenshot("assignment 1") == picture
    assert zlib.crc32(screenshot("assignment 2")) != zlib.crc32(picture)


def test_only_failures_get_a_picture_some_seconds_apart_and_not_for_ever():
    now = [0.0]
    pictures = Pictures(None, lambda: now[0], pictures_max=2)  # type: ignore[arg-type]  # nothing is uploaded
    others: list[Any] = [Heartbeat("online"), Report("A", 1, "running"), Report("A", 1, "completed")]
    assert not any(pictures.wants(Errand(action, 1)) for action in others)
    assert not pictures.wants(FAILED._replace(repeated=True))
    assert [pictures.wants(FAILED) for _ in range(3)] == [True, False, False]
    now[0] += EVERY_S
    assert pictures.wants(FAILED)
    now[0] += 100 * EVERY_S
    assert not pictures.wants(FAILED), "the farm has had its number"


@pytest.mark.parametrize("wiring", [Wiring("http"), Wiring("socket")], ids=["http", "socket"])
async def test_a_failure_is_reported_with_its_picture_and_others_without(platform, client, wiring):
    phones = await registered(client, populate(1, 2, 1, FAILING, wiring=wiring))
    pictures = Pictures(client, lambda: 0.0)  # the clock stands still: there is time for one
    async with Farm(phones, client, Clock(speed=30), pictures=pictures).running():
        work = [platform.hand_out(phone.identity.serial_number) for phone in phones]
        if wiring.transport == "socket":
            await eventually(lambda: platform.lines)
            for one in work:
                await platform.push(one)
        await eventually(lambda: len(platform.ended) == 2, within_s=30)
    ((pictured, run, content),) = platform.pictures
    assert recognise(content) is PictureType.PNG
    said = {report["assignment_id"]: report.get("screenshot_ref") for report in platform.reports}
    assert said == {one: picture_of(pictured, run) if one == pictured else None for one in work}


async def test_a_platform_that_keeps_no_pictures_gets_the_failure_all_the_same(platform, client):
    platform.refuse = lambda request: web.Response(status=501) if "evidence" in request.path else None
    (phone,) = phones = await registered(client, populate(1, 1, 1, FAILING))
    work = platform.hand_out(phone.identity.serial_number)
    async with Farm(phones, client, Clock(speed=30), pictures=Pictures(client, lambda: 0.0)).running():
        await eventually(lambda: platform.ended == {work: "failed"}, within_s=30)
    assert "screenshot_ref" not in platform.reports[-1]
