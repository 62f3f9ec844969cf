"""Uploads of pictures: who may send which, and that a report never depends on them."""

from __future__ import annotations

import asyncio
import shutil

import pytest

from drover.evidence.pictures import PICTURE_BYTES_MAX
from drover.gateway import evidence as uploads
from tests.unit.evidence.pictures import JPEG, WEBP, png

pytestmark = pytest.mark.req("DF-30")

OTHER = "00000000-0000-7000-9000-0000000000ff"


async def upload(world, assignment_id, data=None, *, key=None, run="", **headers):
    url = f"/agent/v1/assignments/{assignment_id}/evidence{run}"
    data = png() if data is None else data
    return await world.client.post(url, data=data, headers=(key or world.anon) | headers)


async def test_a_picture_is_kept_and_its_reference_goes_into_the_report(world, tmp_path):
    device_id = await world.phone_with_work()
    work = world.running(device_id)
    answer = await upload(world, work.assignment_id, key=world.bound(device_id))
    assert answer.status == 201, await answer.text()
    kept = await answer.json()
    assert (kept["content_type"], kept["size_bytes"]) == ("image/png", len(png()))
    reference = kept["screenshot_ref"]
    assert reference.startswith(f"/api/evidence/{kept['expires_at'][:4]}")
    (file,) = [path for path in (tmp_path / "evidence").rglob("*") if path.is_file()]
    assert reference.endswith(f"/{device_id}/{file.name}")
    assert file.read_bytes() == png()
    body = {"status": "failed", "error_code": "PLAYBACK_STALLED", "screenshot_ref": reference}
    assert (await world.report(work.assignment_id, body)).status == 204
    assert world.bus.commands[-1].screenshot_ref == reference
    assert world.telemetry.heard[0][0] == device_id, "an upload is a sign of life"


@pytest.mark.parametrize("data", [JPEG, WEBP], ids=["jpeg", "webp"])
async def test_other_pictures_are_taken_whatever_the_header_says(world, data):
    work = world.running(await world.phone_with_work())
    answer = await upload(world, work.assignment_id, data, **{"Content-Type": "text/html"})
    assert answer.status == 201
    assert (await answer.json())["content_type"] in ("image/jpeg", "image/webp")


@pytest.mark.parametrize("data", [b"", b"<script>alert(1)</script>", png()[:-4]], ids=["empty", "html", "cut off"])
async def test_what_is_no_picture_is_415_and_not_kept(world, tmp_path, data):
    work = world.running(await world.phone_with_work())
    answer = await upload(world, work.assignment_id, data, **{"Content-Type": "image/png"})
    assert (answer.status, (await answer.json())["code"]) == (415, "NOT_A_PICTURE")
    assert not (tmp_path / "evidence").exists()


async def test_a_picture_has_a_largest_size_of_its_own(world):
    work = world.running(await world.phone_with_work())
    large = png(noise=bytes(PICTURE_BYTES_MAX - len(png()) - 12))
    assert len(large) == PICTURE_BYTES_MAX
    assert (await upload(world, work.assignment_id, large)).status == 201

    async def in_chunks():
        yield large
        yield b"x"

    for body in (large + b"x", in_chunks()):
        answer = await upload(world, work.assignment_id, body)
        assert answer.status == 413
        assert (await answer.json())["details"] == {"bytes_max": PICTURE_BYTES_MAX}


async def test_a_key_of_one_phone_sends_only_its_own_pictures(world):
    work = world.running(await world.phone_with_work())
    assert (await upload(world, work.assignment_id, key=world.bound(OTHER))).status == 403
    assert (await upload(world, work.assignment_id, key=world.service)).status == 201
    assert (await upload(world, OTHER)).status == 404
    assert (await upload(world, "me")).status == 400
    assert (await world.client.post(f"/agent/v1/assignments/{work.assignment_id}/evidence", data=png())).status == 401


@pytest.mark.parametrize("world", [{"DROVER_ANON": "read"}], indirect=True)
async def test_the_anon_key_sends_pictures_only_where_it_may_report(world):
    work = world.running(await world.phone_with_work())
    answer = await upload(world, work.assignment_id)
    assert answer.status == 403
    assert "DROVER_ANON=agent" in (await answer.json())["hint"]


async def test_a_picture_belongs_to_a_run_that_exists(world):
    work = world.running(await world.phone_with_work())
    kept = await (await upload(world, work.assignment_id, run=f"?run={work.run}")).json()
    assert f".{work.run}." in kept["screenshot_ref"]
    for run in (work.run + 1, "x", "-1"):
        assert (await upload(world, work.assignment_id, run=f"?run={run}")).status == 400


@pytest.mark.req("SE-05")
@pytest.mark.parametrize("world", [{"DROVER_EVIDENCE_PER_DAY": "2"}], indirect=True)
async def test_a_phone_sends_so_many_pictures_a_day_and_then_hears_when_to_come_back(world):
    work = world.running(await world.phone_with_work())
    for text in (b"a", b"b"):
        assert (await upload(world, work.assignment_id, png(noise=text))).status == 201
    answer = await upload(world, work.assignment_id, png(noise=b"c"))
    assert (answer.status, (await answer.json())["code"]) == (429, "TOO_MANY_PICTURES")
    assert 0 < int(answer.headers["Retry-After"]) <= 86_400


SELDOM = {"DROVER_DEVICE_REQUESTS_PER_S": "0.001", "DROVER_DEVICE_REQUESTS_BURST": "2"}
"""So seldom that a slow machine does not earn another turn while the test runs."""


@pytest.mark.req("SE-05")
@pytest.mark.parametrize("world", [SELDOM], indirect=True)
async def test_a_phone_that_sends_pictures_too_often_is_refused_before_its_body_is_read_and_another_is_not(world):
    phones = [await world.phone(f"ABC1234{n}") for n in range(2)]
    world.job()
    first, second = map(world.running, phones)
    answers = [await upload(world, first.assignment_id, key=world.bound(first.device_id)) for _ in range(3)]
    assert [answer.status for answer in answers] == [201, 201, 429]
    assert int(answers[-1].headers["Retry-After"]) > 60
    huge = await upload(world, first.assignment_id, bytes(PICTURE_BYTES_MAX + 1))
    assert huge.status == 429, "the limit comes before the body, also with the key that all phones share"
    assert (await upload(world, second.assignment_id)).status == 201


async def test_on_a_full_disk_the_picture_is_507_and_the_report_is_taken(world, monkeypatch):
    work = world.running(await world.phone_with_work())
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**12, 10**12, 0))
    answer = await upload(world, work.assignment_id)
    assert (answer.status, (await answer.json())["code"]) == (507, "EVIDENCE_FULL")
    assert "without a picture" in (await answer.json())["hint"]
    assert (await world.report(work.assignment_id, {"status": "failed", "error_code": "APP_CRASH"})).status == 204


@pytest.mark.parametrize("world", [{"DROVER_EVIDENCE": ""}], indirect=True)
async def test_without_a_place_for_pictures_uploads_say_so(world):
    work = world.running(await world.phone_with_work())
    answer = await upload(world, work.assignment_id)
    assert (answer.status, (await answer.json())["code"]) == (501, "EVIDENCE_NOT_CONFIGURED")


async def test_a_folder_that_cannot_be_written_is_503(world, tmp_path):
    (tmp_path / "evidence").write_text("no folder")
    work = world.running(await world.phone_with_work())
    answer = await upload(world, work.assignment_id)
    assert (answer.status, (await answer.json())["code"]) == (503, "EVIDENCE_UNREACHABLE")


async def test_a_process_receives_only_so_many_pictures_at_a_time(world, monkeypatch):
    work = world.running(await world.phone_with_work())
    monkeypatch.setattr(uploads, "UPLOADS_MAX", 0)
    answer = await upload(world, work.assignment_id)
    assert (answer.status, (await answer.json())["code"]) == (503, "OVERLOADED")
    monkeypatch.undo()
    assert (await upload(world, work.assignment_id)).status == 201


async def test_a_phone_that_sends_slowly_does_not_take_the_places_of_others(world, monkeypatch):
    devices = [await world.phone(serial) for serial in ("ABC12345", "ABC12346")]
    world.job()
    slow, other = [world.running(device_id).assignment_id for device_id in devices]
    arriving, goes_on, read = asyncio.Semaphore(0), asyncio.Event(), uploads.read_bytes

    async def slowly(request, bytes_max):
        if slow in request.path:
            arriving.release()
            await goes_on.wait()
        return await read(request, bytes_max)

    monkeypatch.setattr(uploads, "read_bytes", slowly)
    under_way = [asyncio.create_task(upload(world, slow)) for _ in range(uploads.UPLOADS_PER_DEVICE_MAX)]
    for _ in under_way:
        await arriving.acquire()
    answer = await upload(world, slow)
    assert (answer.status, (await answer.json())["code"]) == (503, "OVERLOADED")
    assert (await upload(world, other)).status == 201
    goes_on.set()
    assert [(await one).status for one in under_way] == [201, 201]
    assert (await upload(world, slow)).status == 201
