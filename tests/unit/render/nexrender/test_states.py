"""What nexrender's words mean."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.render.nexrender.states import (
    ERROR_CHARS_MAX,
    Stage,
    error_of,
    is_missing,
    progress_of,
    shortened,
    stage_of,
)

TEMPLATE = r"D:\templates\cyprus design.aep"


@pytest.mark.req("RN-09")
@pytest.mark.parametrize(
    ("stage", "states"),
    [
        (Stage.RENDERING, "created queued picked started render:setup render:predownload render:download"),
        (Stage.RENDERING, "render:postdownload render:prerender render:script render:dorender rendering"),
        (Stage.ENCODING, "render:postrender render:cleanup encoding"),
        (Stage.FINISHED, "finished"),
        (Stage.ERROR, "error"),
    ],
)
def test_states_of_both_dialects_are_stages_of_ours(stage, states):
    assert {stage_of(state) for state in states.split()} == {stage}


@pytest.mark.req("RN-09")
@given(st.text())
def test_no_word_but_its_own_means_that_a_render_has_ended(state):
    ended = stage_of(state) in (Stage.FINISHED, Stage.ERROR)
    assert ended is (state in ("finished", "error"))


@pytest.mark.req("RN-09")
@pytest.mark.parametrize(
    ("answer", "progress"),
    [
        ({"renderProgress": 45}, 45),
        ({"progress": 45}, 45),
        ({"renderProgress": 45, "progress": 1}, 45),
        ({"renderProgress": 0}, 0),
        ({"progress": 99.9}, 99),
        ({"progress": 101}, 100),
        ({"progress": 1e300}, 100),
        ({"progress": -3}, 0),
        ({}, None),
        ({"progress": None}, None),
        ({"progress": True}, None),
        ({"progress": "45"}, None),
        ({"renderProgress": None, "progress": 7}, 7),
    ],
)
def test_progress_is_a_whole_number_from_0_to_100_or_nothing(answer, progress):
    assert progress_of(answer) == progress


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"error": "Error: it broke"}, "Error: it broke"),
        ({"error": ["first", "second"]}, "first\n\nsecond"),
        ({"error": {"message": "it broke", "stack": "at x"}}, "it broke"),
        ({"error": [{"stack": "at x"}, None, 3]}, "at x"),
        ({"error": "", "message": "it broke"}, "it broke"),
        ({"error": {}}, None),  # what JSON makes of a JavaScript error
        ({"error": None}, None),
        ({}, None),
        ({"error": "a\0b"}, "ab"),
        ({"error": [["deep"]]}, None),
    ],
)
def test_an_error_is_read_in_every_shape_in_which_it_comes(answer, text):
    assert error_of(answer) == text


def test_of_a_long_error_beginning_and_end_are_kept():
    told = error_of({"error": "first " + "x" * 100_000 + " last"})
    assert len(told) == ERROR_CHARS_MAX
    assert told.startswith("first ")
    assert told.endswith(" last")


@given(st.text(), st.integers(10, 50))
def test_what_is_shortened_is_never_too_long_and_what_fits_is_left_alone(text, chars_max):
    short = shortened(text, chars_max)
    assert len(short) <= chars_max
    assert short == text or len(text) > chars_max


@pytest.mark.req("RN-12")
@pytest.mark.parametrize(
    "error",
    [
        f"Error: ENOENT: no such file or directory, open '{TEMPLATE}'",
        "Error: ENOENT: no such file or directory, open 'd:/Templates/Cyprus Design.aep'",
        f"Error: Unable to open {TEMPLATE}. The system cannot find the file specified.",
        f"AEP file not found: {TEMPLATE}",
        f"지정된 파일을 찾을 수 없습니다: {TEMPLATE}",
        "first\n\nError: ENOENT: no such file or directory, open 'D:\\\\templates\\\\cyprus design.aep'",
    ],
)
def test_an_error_that_names_the_template_as_missing_is_known(error):
    assert is_missing(error, TEMPLATE)
    assert is_missing(error, "file:///D:/templates/cyprus%20design.aep")


@pytest.mark.req("RN-12")
@pytest.mark.parametrize(
    "error",
    [
        None,
        "",
        "Error: ENOENT: no such file or directory, open 'D:\\assets\\flags\\Korea.png'",
        f"Error: Unable to allocate enough memory while opening {TEMPLATE}",
        "Error: ENOENT: no such file or directory, open 'C:\\nexrender\\u1\\x1y2-\\D:\\templates\\cyprus design.aep'",
        f"Error: ENOENT: no such file or directory, open '{TEMPLATE}.lock'",
        "aerender ERROR: No comp was found with the given name.",
        "Error: ENOENT: no such file or directory, open 'E:\\templates\\cyprus design.aep'",
    ],
)
def test_other_errors_are_not_taken_for_a_missing_template(error):
    assert not is_missing(error, TEMPLATE)


def test_paths_of_posix_and_of_shares_are_found_in_errors_as_well():
    for path in ("/mnt/templates/a (1).aep", r"\\NAS\templates\a+b.aep"):
        assert is_missing(f"Error: ENOENT: no such file or directory, open '{path}'", path)
