"""Names of files on the NAS: safe for every file system, whatever a composition is called."""

import unicodedata
from datetime import date, datetime
from pathlib import PurePosixPath, PureWindowsPath

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from drover.nas.naming import (
    NAME_BYTES_MAX,
    final_name,
    is_date_folder,
    parse_temporary,
    parts_inside,
    temporary_name,
)

DAY = date(2026, 11, 16)
FORBIDDEN = set('<>:"/\\|?*')

characters = st.characters() | st.sampled_from('/\\.: \0\x1f*?"<>|\u202e\u200b\ud800가각́')
compositions = st.text(characters, max_size=300) | st.sampled_from(
    ["", ".", "..", "../../etc/passwd", "C:\\x", "CON", "con.mp4", "nul .x", "COM1", "LPT¹.tar", "CONIN$.a", "a" * 400]
)
ids = st.integers(0, 2**63 - 1)


@pytest.mark.req("RN-11")
@pytest.mark.parametrize(
    ("composition", "name"),
    [
        ("lower_third", "lower_third_7.mp4"),
        ("자막 하단", "자막 하단_7.mp4"),
        ("뉴스/속보: 1부", "뉴스_속보_ 1부_7.mp4"),
        ("../../etc/passwd", "_.._etc_passwd_7.mp4"),
        ("", "render_7.mp4"),
        ("..", "render_7.mp4"),
        (".hidden ", "hidden_7.mp4"),
        ("CON", "_CON_7.mp4"),
        ("nul.tar", "_nul.tar_7.mp4"),
        ("CONTROL", "CONTROL_7.mp4"),
        (unicodedata.normalize("NFD", "각"), "각_7.mp4"),
    ],
)
def test_a_file_is_called_by_day_composition_and_id(composition, name):
    assert final_name(DAY, composition, 7) == PurePosixPath("2026-11-16", name)


def test_a_moment_counts_as_its_day():
    assert final_name(datetime(2026, 11, 16, 9, 30), "a", 7).parent == PurePosixPath("2026-11-16")  # noqa: DTZ001


@pytest.mark.req("RN-11")
@given(compositions, ids)
@example("CON", 0)
def test_any_composition_gives_a_name_that_every_file_system_takes(composition, render_id):
    path = final_name(DAY, composition, render_id)
    folder, name = path.parts
    assert folder == "2026-11-16"
    assert len(name.encode()) <= NAME_BYTES_MAX
    assert name.endswith(f"_{render_id}.mp4") and not name.startswith((".", " ", "_" + str(render_id) + ".mp4"))
    assert not FORBIDDEN & set(name)
    assert not any(unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") for character in name)
    assert unicodedata.is_normalized("NFC", name)
    windows = PureWindowsPath(name)
    assert windows.parts == (name,) and not windows.is_reserved() and name == name.rstrip(". ")
    assert parts_inside(path) == (folder, name)


@given(st.text(st.characters(categories=["Lo", "Ll", "Nd"]), min_size=1, max_size=40))
def test_letters_of_any_script_are_kept(composition):
    composition = unicodedata.normalize("NFC", composition)
    assume(len(composition.encode()) < 150 and composition.upper() not in {"CON", "PRN", "AUX", "NUL"})
    assume(composition.upper()[:3] not in {"COM", "LPT"})
    assert final_name(DAY, composition, 7).name == f"{composition}_7.mp4"


@given(compositions, compositions, ids, ids)
@example("a", "a_1", 12, 2)
@example("a", "A", 1, 2)
def test_two_renders_never_share_a_name_not_even_where_case_does_not_count(one, other, first, second):
    assume(first != second)
    names = {final_name(DAY, one, first).name.casefold(), final_name(DAY, other, second).name.casefold()}
    assert len(names) == 2


@given(compositions, ids)
def test_a_name_that_is_safe_stays_as_it_is(composition, render_id):
    name = final_name(DAY, composition, render_id).name
    stem = name.removesuffix(f"_{render_id}.mp4")
    assert final_name(DAY, stem, render_id).name == name


@given(compositions, ids, st.integers(0, 10**9))
def test_a_temporary_name_is_hidden_in_the_same_folder_and_tells_render_and_run(composition, render_id, run):
    final = final_name(DAY, composition, render_id)
    temporary = temporary_name(final, run)
    assert temporary.parent == final.parent
    assert temporary.name.startswith(".") and temporary.name.endswith(".part")
    assert len(temporary.name.encode()) <= 255
    assert parse_temporary(temporary) == parse_temporary(temporary.name) == (render_id, run)
    assert parse_temporary(final) is None


@pytest.mark.parametrize(
    "name", ["", ".", "a_7.mp4", ".a_7.mp4", "a_7.mp4.run1.part", ".a_07.mp4.run1.part", ".a_7.mp4.run.part",
             ".a_٧.mp4.run1.part", ".a_7.mp4.run1.part~", f".a_{'9' * 5000}.mp4.run1.part"]
)  # fmt: skip
def test_no_other_name_is_taken_for_a_temporary_one(name):
    assert parse_temporary(name) is None


@given(st.text(characters, max_size=60))
def test_any_text_can_be_asked_about(name):
    parse_temporary(name)


@pytest.mark.parametrize(
    ("name", "is_day"), [("2026-11-16", True), ("2026-11-1", False), ("archive", False), ("2026-11-16.old", False)]
)
def test_a_sweep_knows_the_folders_of_days(name, is_day):
    assert is_date_folder(name) is is_day


@pytest.mark.parametrize("path", ["", ".", "/", "/a", "..", "a/../b", "a\\b", "a\0", "c:/a", "a:stream"])
def test_a_path_that_could_lead_elsewhere_is_refused(path):
    with pytest.raises(ValueError):
        parts_inside(PurePosixPath(path))
