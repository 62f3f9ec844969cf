"""Rendered files, good and bad: what is said of each, and that none harms the one who asks."""

import asyncio
import os
import sys
from contextlib import suppress

import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drover.domain.errors import DroverError
from drover.render import validation
from drover.render.validation import FileFacts, OutputInvalid, validate_output
from drover.testing.waiting import eventually
from tests.integration.render.films import film, sound

PLAYLIST = b"#EXTM3U\nhttp://127.0.0.1:1/a.ts\n"
SIZE = {"width": 320, "height": 180}


@pytest.fixture(params=[False, True], ids=["index last", "index first"])
def good(request):
    return film(index_first=request.param)


@pytest.fixture
def output(tmp_path):
    def write(content):
        path = tmp_path / "job_7.mp4"
        path.write_bytes(content)
        return path

    return write


async def said_of(path, **expected):
    with pytest.raises(OutputInvalid) as invalid:
        await validate_output(path, **{**SIZE, **expected})
    assert isinstance(invalid.value, DroverError) and invalid.value.path == path
    return str(invalid.value)


@pytest.mark.req("RN-10")
async def test_the_facts_of_a_good_file_are_told(output, good):
    assert await validate_output(output(good), **SIZE) == FileFacts(len(good), "h264", 320, 180, 1.2, 30)


@pytest.mark.req("RN-10")
async def test_without_further_words_a_full_hd_film_in_h264_is_expected(output):
    facts = await validate_output(output(film(1920, 1080, frames=3)))
    assert (facts.codec, facts.width, facts.height) == ("h264", 1920, 1080)
    with pytest.raises(OutputInvalid, match="Resolution mismatch"):
        await validate_output(output(film()))


@pytest.mark.req("RN-10", "RN-24")
async def test_a_file_that_is_missing(output, tmp_path):
    missing = tmp_path / "none" / "job_7.mp4"
    assert await said_of(missing) == f"Output file not found: {missing}"


@pytest.mark.req("RN-10", "RN-24")
async def test_a_folder_is_no_file(tmp_path):
    assert await said_of(tmp_path) == f"Output file not found: {tmp_path}"


@pytest.mark.req("RN-10", "RN-24")
@pytest.mark.parametrize("size", [0, 7, 100 * 1024 - 1])
async def test_a_file_that_is_too_small(output, size):
    assert await said_of(output(film()[:size])) == f"File too small: {size} bytes"


@pytest.mark.req("RN-10")
async def test_the_smallest_size_is_allowed_itself(output):
    facts = await validate_output(output(film()), **SIZE, bytes_min=len(film()))
    assert facts.size_bytes == len(film())
    assert await said_of(output(film()), bytes_min=len(film()) + 1) == f"File too small: {len(film())} bytes"


@pytest.mark.req("RN-10", "RN-24")
async def test_a_file_without_a_picture(output):
    assert await said_of(output(sound())) == "No video stream found"


@pytest.mark.req("RN-10", "RN-24")
async def test_a_film_of_another_size(output):
    assert await said_of(output(film()), width=1920, height=1080) == "Resolution mismatch: 320x180"


@pytest.mark.req("RN-10")
async def test_a_film_in_another_codec(output):
    mpeg4 = output(film(codec="mpeg4"))
    assert await said_of(mpeg4) == "Codec mismatch: mpeg4"
    assert (await validate_output(mpeg4, **SIZE, codec="mpeg4")).codec == "mpeg4"


@pytest.mark.req("RN-10")
@pytest.mark.parametrize("missing", [1, 8, 500, 20_000])
async def test_a_file_whose_end_is_missing(output, good, missing):
    said = await said_of(output(good[:-missing]))
    assert said.startswith("File not readable: ") and said.endswith("bytes are missing at its end")


@pytest.mark.req("RN-10")
async def test_a_file_without_its_index(output):
    """As an encoder that was killed leaves it: each box is whole, and the last one was never begun."""
    content = film()
    index = content.rindex(b"moov") - 4
    assert (await said_of(output(content[:index]))).startswith("File not readable: ")


@pytest.mark.req("RN-10")
async def test_a_file_that_was_never_written_to_its_end_though_its_size_is_right(output):
    """What a copy with a hole looks like: the blocks of the second half are there, and empty."""
    content = film(index_first=True)
    half = len(content) // 2
    assert (await said_of(output(content[:half] + bytes(len(content) - half)))).startswith("File not readable: ")


@pytest.mark.req("RN-10")
@pytest.mark.parametrize(
    "content",
    [lambda: os.urandom(200_000), lambda: bytes(200_000), lambda: PLAYLIST * 9000, lambda: film(container="avi")],
    ids=["noise", "zeros", "a playlist", "another container"],
)
async def test_a_file_that_is_something_else(output, content):
    assert await said_of(output(content())) == "File not readable: it is not an MP4"


@pytest.mark.req("RN-10")
async def test_a_box_of_no_length_does_not_keep_the_probe_for_ever(output):
    assert (await said_of(output(film() + b"\0\0\0\3free" + bytes(64)))) == (
        "File not readable: a box has an invalid length"
    )


@pytest.mark.req("RN-10")
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damage_anywhere_is_survived(output, data):
    content = bytearray(data.draw(st.sampled_from([film(), film(index_first=True)])))
    for _ in range(data.draw(st.integers(1, 20))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + 4] = data.draw(st.binary(min_size=4, max_size=4))
    with suppress(OutputInvalid):
        assert asyncio.run(validate_output(output(bytes(content)), **SIZE)).codec == "h264"


@pytest.mark.req("RN-10")
async def test_a_file_that_kills_the_probe_kills_nobody_else(output, monkeypatch):
    monkeypatch.setattr(validation, "PROBE", (sys.executable, "-c", "import os; os.abort()"))
    assert await said_of(output(film())) == "File not readable: the probe ended with code -6"


@pytest.mark.req("RN-10")
async def test_a_file_that_the_probe_never_comes_back_from(output, monkeypatch):
    monkeypatch.setattr(validation, "PROBE", (sys.executable, "-c", "import signal; signal.pause()"))
    path = output(film())
    assert await said_of(path, timeout_s=0.2) == "File not readable: the probe took more than 0.2 s"
    assert not probes_of(path)


async def test_who_stops_waiting_ends_the_probe(output, monkeypatch):
    monkeypatch.setattr(validation, "PROBE", (sys.executable, "-c", "import signal; signal.pause()"))
    path = output(film())
    looking = asyncio.create_task(validate_output(path))
    await eventually(lambda: probes_of(path))
    looking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await looking
    assert not probes_of(path)


def probes_of(path):
    return [child for child in psutil.Process().children() if str(path) in child.cmdline()]
