"""The folder that nexrender writes into, often a share: missing, full, hanging. Workers say so, and go on."""

from __future__ import annotations

import threading

import pytest

from drover.domain.render import commands as c
from drover.domain.render import events as e
from drover.domain.render.state import Status
from drover.nas import blocking
from drover.nas.source import digest_of
from drover.nas.store import SourceUnreadable
from drover.render.local_disk import FolderAway, LocalDisk
from drover.render.nexrender.job import simplified
from drover.render.nexrender.states import Stage
from drover.render.workshop import Folders
from drover.testing.waiting import eventually
from tests.unit.render.shop import GFX

SHORT_S = 0.05


@pytest.fixture
def stuck():
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def folders(tmp_path):
    (tmp_path / "out").mkdir()
    return Folders(tmp_path / "out", "D:\\out", "", "")


@pytest.mark.req("RN-12")
def test_a_folder_that_is_not_there_is_a_fault_that_is_tried_again(in_shop):
    async def story(shop):
        make, away = shop.folders.make, [True, True]

        def sometimes(uid):
            if away:
                away.pop()
                raise FolderAway("The output folder cannot be used: No space left on device")
            make(uid)

        shop.folders.make = sometimes
        shop.request()
        shop.start()
        await shop.until_status(Status.COMPLETED)
        retries = shop.office.told(e.RetryScheduled)
        assert [(retry.fault, retry.number) for retry in retries] == [("OUTPUT_INVALID", 1), ("OUTPUT_INVALID", 2)]
        assert "No space left" in retries[0].message

    in_shop(story)


async def test_a_folder_that_is_missing_is_told_and_not_made(tmp_path):
    """A share that is not mounted would be made on this machine's own disk."""
    folders = Folders(tmp_path / "not" / "mounted", "D:\\out", "", "")
    with pytest.raises(FolderAway, match="No such file"):
        await LocalDisk()(folders.make, "drover-1-1-0")
    with pytest.raises(FolderAway):
        await LocalDisk()(folders.jobs)
    assert list(tmp_path.iterdir()) == []


async def test_a_job_has_a_folder_of_its_own_until_it_is_discarded(folders):
    disk = LocalDisk()
    await disk(folders.make, "drover-1-1-0")
    await disk(folders.make, "drover-1-1-0")
    (folders.output / "drover-1-1-0" / "job_1.mp4").write_bytes(b"film")
    (folders.output / "somebody-elses").mkdir()
    assert [path.name for path in await disk(folders.jobs)] == ["drover-1-1-0"]
    await disk(folders.discard, "drover-1-1-0")
    await disk(folders.discard, "drover-1-1-0")
    assert [path.name for path in folders.output.iterdir()] == ["somebody-elses"]


async def test_a_folder_that_hangs_is_given_up_and_its_threads_are_bounded(stuck, tmp_path):
    disk = LocalDisk(stall_s=SHORT_S)
    for _ in range(blocking.HANGING_MAX + 3):
        with pytest.raises(FolderAway):
            await disk(stuck.wait)
    with pytest.raises(SourceUnreadable):
        await digest_of(tmp_path / "film.mp4", blocking=disk.blocking)
    hanging = [thread for thread in threading.enumerate() if thread.name == "output call"]
    assert len(hanging) == blocking.HANGING_MAX
    assert all(thread.daemon for thread in hanging), "they must not keep the process alive"
    stuck.set()
    await eventually(lambda: not any(thread.is_alive() for thread in hanging))


def test_whether_a_template_is_there_is_looked_up_aside_and_not_for_ever(in_shop):
    async def story(shop):
        here, looked = shop.workshop.aside, []

        async def hanging(call, *arguments):
            if arguments == ("/templates/poker.aep",):
                looked.append(call)
                raise FolderAway("no sign of life")
            return await here(call, *arguments)

        object.__setattr__(shop.workshop, "aside", hanging)
        shop.request()
        shop.start()
        await shop.until_status(Status.COMPLETED)
        assert looked, "in a thread: the event loop must not hang with the share"

    in_shop(story)


@pytest.mark.req("RN-12")
def test_a_template_that_can_be_seen_to_be_missing_fails_at_once(in_shop, tmp_path):
    async def story(shop):
        object.__setattr__(shop.workshop, "template", str(tmp_path / "missing.aep"))
        shop.request()
        shop.start()
        await shop.until_status(Status.FAILED)
        (failed,) = shop.office.told(e.RenderFailed)
        assert (failed.fault, failed.message) == ("TEMPLATE_MISSING", f"Template not found: {tmp_path / 'missing.aep'}")
        assert not shop.nexrender.submissions

    in_shop(story)


@pytest.mark.req("DI-16")
def test_a_picture_that_can_be_seen_to_be_missing_fails_at_once_with_its_name(in_shop, tmp_path):
    async def story(shop):
        images = tmp_path / "images"
        (images / "flags").mkdir(parents=True)
        (images / "flags" / "KR.png").touch()
        object.__setattr__(shop.folders, "images", str(images))
        shop.request({**GFX, "flags": ["KR", "JP"]})
        shop.start()
        await shop.until_status(Status.FAILED)
        (failed,) = shop.office.told(e.RenderFailed)
        message = f"Image not found in {images}: {images / 'flags' / 'JP.png'}"
        assert (failed.fault, failed.message) == ("IMAGE_MISSING", message)
        assert not shop.nexrender.submissions
        (images / "flags" / "JP.png").touch()
        shop.request({**GFX, "flags": ["KR", "JP"]})
        await shop.until_status(Status.COMPLETED, 2)

    in_shop(story)


@pytest.mark.req("DI-16")
def test_a_picture_outside_the_image_folder_fails_at_once_with_its_name(in_shop):
    async def story(shop):
        shop.request({**GFX, "flags": ["KR", "C:/Windows/x.png"]})
        shop.start()
        await shop.until_status(Status.FAILED)
        (failed,) = shop.office.told(e.RenderFailed)
        assert (failed.fault, failed.message) == (
            "IMAGE_MISSING",
            "Image not found in /images: C:/Windows/x.png (Flag 2)",
        )
        assert not shop.nexrender.submissions

    in_shop(story)


@pytest.mark.req("DI-16")
def test_a_picture_that_only_nexrender_can_look_for_is_named_too(in_shop):
    async def story(shop):
        error = "Error: ENOENT: no such file or directory, open '/images/flags/KR.png'"
        shop.nexrender.script = [([(1, Stage.ERROR, 0)], error, None)]
        shop.request({**GFX, "flags": ["KR"]})
        shop.start()
        await shop.until_status(Status.FAILED)
        (failed,) = shop.office.told(e.RenderFailed)
        assert (failed.fault, failed.message) == ("IMAGE_MISSING", "Image not found in /images: /images/flags/KR.png")

    in_shop(story)


@pytest.mark.req("DI-16", "RN-07")
def test_the_clock_of_003_reaches_nexrender_as_an_expression(in_shop):
    async def story(shop):
        clock = {"layer_name": "Clock", "kind": "expression", "property": "timeRemaining"}
        shop.office.do(c.MapField(composition_id="comp", field_name="Single - clock", **clock))
        shop.request({**GFX, "single_fields": {"clock": "time * 1000"}})
        shop.start()
        await shop.until_status(Status.COMPLETED)
        (document,) = shop.nexrender.submissions
        assert simplified(document)["actions"] == [
            {
                "type": "expression",
                "params": {"layerName": "Clock", "property": "timeRemaining", "value": "time * 1000"},
            }
        ]

    in_shop(story)
