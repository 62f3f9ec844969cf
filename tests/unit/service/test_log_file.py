"""A log file of bounded size."""

from __future__ import annotations

import pytest

from drover.service.log_file import LogFile

pytestmark = pytest.mark.req("SE-11")


def written(file: LogFile, *lines: str) -> None:
    for line in lines:
        file.write(line)
        file.flush()


def test_it_goes_on_where_it_was_and_is_private(tmp_path):
    path = tmp_path / "access.log"
    written(LogFile(path), "one\n")
    written(LogFile(path), "two\n")
    assert path.read_text() == "one\ntwo\n"
    assert path.stat().st_mode & 0o777 == 0o600


def test_when_it_is_full_it_becomes_the_old_one_and_no_third_one_is_kept(tmp_path):
    path = tmp_path / "access.log"
    written(LogFile(path, bytes_max=6), "one\n", "two\n", "three\n", "four\n")
    assert path.read_text() == "four\n"
    assert (tmp_path / "access.log.1").read_text() == "three\n"
    assert len(list(tmp_path.iterdir())) == 2
