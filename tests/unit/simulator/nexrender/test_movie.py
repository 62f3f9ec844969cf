"""The files that the simulated nexrender writes, looked at as a validator does."""

from __future__ import annotations

from hashlib import sha256
from io import BytesIO

import av
import pytest

from drover.simulator.nexrender.movie import film
from drover.simulator.nexrender.script import FULL_HD

SMALLEST_BYTES = 100 * 1024


def seen(content):
    """Codec, size and pictures of the video."""
    with av.open(BytesIO(content)) as container:
        stream = container.streams.video[0]
        return stream.codec_context.name, (stream.width, stream.height), sum(1 for _ in container.decode(stream))


@pytest.mark.req("RN-10")
@pytest.mark.parametrize("size", [FULL_HD, (1280, 720), (320, 240), (1080, 1920)])
def test_a_good_film_is_h264_of_the_size_that_was_asked_for_and_large_enough(size):
    content = film("good", size, "mark")
    assert len(content) >= SMALLEST_BYTES
    codec, found, pictures = seen(content)
    assert (codec, found) == ("h264", size)
    assert pictures > 5


def test_its_pictures_move():
    with av.open(BytesIO(film("good", FULL_HD, "mark"))) as container:
        pictures = [bytes(picture.planes[0]) for picture in container.decode(video=0)]
    assert len(set(pictures)) == len(pictures)


def test_no_two_films_are_the_same_and_each_can_be_made_again():
    films = [film("good", FULL_HD, f"render {number}") for number in range(20)]
    assert len({sha256(content).digest() for content in films}) == 20
    assert film("good", FULL_HD, "render 3") == films[3]


def test_what_goes_wrong_goes_wrong_in_one_way_only():
    with pytest.raises(av.FFmpegError):
        seen(film("broken", FULL_HD, "mark"))
    assert len(film("broken", FULL_HD, "mark")) >= SMALLEST_BYTES
    assert 0 < len(film("small", FULL_HD, "mark")) < SMALLEST_BYTES
