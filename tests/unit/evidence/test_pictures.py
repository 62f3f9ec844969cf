"""Which bytes are pictures, and how pictures are named."""

from datetime import date

import pytest

from drover.evidence.pictures import PictureType, recognise
from drover.evidence.reference import Reference, day_of
from tests.unit.evidence.pictures import JPEG, WEBP, png

pytestmark = pytest.mark.req("DF-30")

DEVICE = "00000000-0000-7000-9000-000000000001"
ASSIGNMENT = "00000000-0000-7000-8000-000000000002"
DAY = date(2026, 11, 18)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (png(), PictureType.PNG),
        (JPEG, PictureType.JPEG),
        (WEBP, PictureType.WEBP),
        (JPEG + b"camera", PictureType.JPEG),
    ],
    ids=["png", "jpeg", "webp", "jpeg with a tail"],
)
def test_a_picture_is_known_by_its_content(data, kind):
    assert recognise(data) is kind


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<html><script>alert(1)</script>",
        b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
        b"GIF89a" + bytes(20),
        b"%PDF-1.7",
        b"PK\x03\x04",
        b"<!-- \x89PNG\r\n\x1a\n -->",
        png()[:-1],
        JPEG[:-2],
        WEBP[:-3],
        WEBP + b"<script>",
    ],
    ids=range(11),
)
def test_what_is_no_whole_picture_is_refused(data):
    assert recognise(data) is None


def test_the_path_of_a_picture_names_it():
    picture = Reference.of(png(), PictureType.PNG, day=DAY, device_id=DEVICE, assignment_id=ASSIGNMENT, run=3)
    assert picture.path == f"/api/evidence/2026-11-18/{DEVICE}/{picture.file}"
    assert Reference.parse("2026-11-18", DEVICE, picture.file) == picture


@pytest.mark.parametrize(
    ("day", "device", "file"),
    [
        ("..", DEVICE, "passwd"),
        ("2026-11-18", "..", f"{ASSIGNMENT}.1.0123456789abcdef.png"),
        ("2026-11-18", DEVICE, "../../../etc/passwd"),
        ("2026-11-18", DEVICE, f"{ASSIGNMENT}.1.0123456789abcdef.svg"),
        ("2026-11-18", DEVICE, f"{ASSIGNMENT}.1.0123456789abcdef.png\n"),
        ("2026-02-30", DEVICE, f"{ASSIGNMENT}.1.0123456789abcdef.png"),
        ("2026-11-18", DEVICE.upper(), f"{ASSIGNMENT}.1.0123456789abcdef.html"),
    ],
)
def test_no_other_path_names_a_picture(day, device, file):
    assert Reference.parse(day, device, file) is None


def test_only_folders_of_days_are_ours():
    assert day_of("2026-11-18") == DAY
    for folder in ("fleet", "20261118", "2026-11-18 ", "2026-11-31", "2026-W47-3"):
        assert day_of(folder) is None
