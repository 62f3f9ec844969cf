"""The tests' files are in memory only where there is room for them, and do not stay there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import memory_folder
from tests.memory_folder import folder_in_memory


@pytest.fixture(autouse=True)
def room(monkeypatch):
    """As on a machine with memory enough, whatever this one has."""
    monkeypatch.setattr(memory_folder, "ROOM_BYTES_MIN", 1)


def test_each_run_has_a_folder_of_its_own_that_nobody_else_can_look_into(tmp_path):
    folder = folder_in_memory({}, tmp_path)
    assert folder.name == str(os.getpid())
    assert folder.parent.stat().st_mode & 0o777 == 0o700
    assert folder_in_memory({}, tmp_path) == folder


def test_without_enough_room_the_files_are_where_they_usually_are(tmp_path, monkeypatch):
    monkeypatch.setattr(memory_folder, "ROOM_BYTES_MIN", 1 << 60)
    assert folder_in_memory({}, tmp_path) is None


def test_where_there_is_no_such_folder_the_files_are_where_they_usually_are(tmp_path):
    assert folder_in_memory({}, tmp_path / "missing") is None


@pytest.mark.parametrize("name", ["TMPDIR", "PYTEST_DEBUG_TEMPROOT"])
def test_a_folder_that_the_user_has_chosen_is_used(name, tmp_path):
    assert folder_in_memory({name: "/somewhere"}, tmp_path) is None


def test_what_an_ended_run_has_left_is_removed_and_what_a_running_one_uses_stays(tmp_path):
    ours = folder_in_memory({}, tmp_path).parent
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    left, used = ours / ended.stdout.decode().strip(), ours / str(os.getppid())
    for folder in (left, used):
        folder.mkdir()
        (folder / "file").touch()
    folder_in_memory({}, tmp_path)
    assert [*ours.iterdir()] == [used]


def test_a_folder_that_somebody_else_has_put_there_is_not_used(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    Path(tmp_path / f"drover-tests-{os.geteuid()}").symlink_to(elsewhere)
    assert folder_in_memory({}, tmp_path) is None
