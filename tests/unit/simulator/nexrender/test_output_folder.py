"""Where files land, and where they never do."""

from __future__ import annotations

import pytest

from drover.simulator.nexrender.output_folder import OutputFolder, WriteFailed, target_of


def copying(**fields):
    return {"uid": "a", "actions": {"postrender": [{"module": "@nexrender/action-copy", **fields}]}}


def test_a_file_lands_where_the_copy_action_says():
    assert target_of(copying(input="result.mp4", output="D:/out/job_1.mp4")) == "D:/out/job_1.mp4"


@pytest.mark.parametrize("job", [{"actions": {}}, {"actions": {"postrender": []}, "output": "x"}, {"actions": []}])
def test_a_file_that_nobody_asked_for_is_cleared_up(job):
    assert target_of({"uid": "a", **job}) is None


def test_a_job_with_an_output_of_its_own_has_no_result_to_copy():
    with pytest.raises(WriteFailed, match=r"ENOENT: no such file or directory, open '.*/a/result.mp4'"):
        target_of({**copying(input="result.mp4", output="D:/out/job_1.mp4"), "output": "D:/out/job_1.mp4"})


def test_what_was_there_is_overwritten(tmp_path):
    folder = OutputFolder(tmp_path)
    for content in (b"a longer film", b"film"):
        folder.land(str(tmp_path / "new" / "job_1.mp4"), content)
    assert (tmp_path / "new" / "job_1.mp4").read_bytes() == b"film"


@pytest.mark.parametrize(
    "path",
    [
        "/etc/elsewhere.mp4",
        "{}/../elsewhere.mp4",
        "{}/link/elsewhere.mp4",
        "elsewhere.mp4",
        "D:/output/../elsewhere.mp4",
        "E:/elsewhere.mp4",
    ],
)
def test_nothing_is_ever_written_elsewhere(tmp_path, path):
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link").symlink_to(tmp_path)
    with pytest.raises(WriteFailed, match="EACCES"):
        OutputFolder(inside).land(path.format(inside), b"film")
    assert not list(tmp_path.glob("*.mp4"))


def test_a_place_that_cannot_be_written_is_the_job_s_error(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(WriteFailed, match="open"):
        OutputFolder(tmp_path).land(str(tmp_path / "file" / "job_1.mp4"), b"film")
