"""A mounted NAS that misbehaves: lost, silent, without the calls of a local file system."""

import errno
import os
import resource
import subprocess
import threading
from datetime import date
from hashlib import sha256
from pathlib import Path

import pytest

from drover.nas import rename
from drover.nas.mount_guard import MARKER
from drover.nas.naming import final_name, temporary_name
from drover.nas.opening import open_store
from drover.nas.rename import link_and_unlink, rename_without_replacing
from drover.nas.store import Digest, NasAway, NasFull

FINAL = final_name(date(2026, 11, 16), "하단", 7)
TEMPORARY = temporary_name(FINAL, 1)
FILM = os.urandom(300_000)
EXPECTED = Digest(len(FILM), sha256(FILM).hexdigest())


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "nas"
    root.mkdir()
    return root


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "job_7.mp4"
    path.write_bytes(FILM)
    return path


@pytest.fixture
def folder(root):
    descriptor = os.open(root, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


def files(root):
    return sorted(path.name for path in root.rglob("*") if path.is_file())


@pytest.mark.req("RN-12")
async def test_a_folder_that_is_no_mount_point_is_refused_so_that_the_local_disk_is_not_filled(root, source):
    store = open_store(str(root))
    with pytest.raises(NasAway, match="is not mounted") as away:
        await store.put(source, TEMPORARY, expected=EXPECTED)
    assert away.value.code == errno.ENOTCONN
    assert list(root.iterdir()) == []


@pytest.mark.req("RN-12")
async def test_a_mount_that_is_lost_is_noticed_and_a_mount_that_is_back_too(root, source):
    def mount():
        command = ["mount", "-t", "tmpfs", "-o", "size=4m,mode=777", "tmpfs", root]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def unmount():
        subprocess.run(["umount", "--lazy", root], check=True)

    if not mount():
        pytest.skip("mounting a tmpfs needs root")
    try:
        (root / "output").mkdir()
        store = open_store(str(root / "output"), mounted_at=root)
        await store.put(source, TEMPORARY, expected=EXPECTED)
    finally:
        unmount()
    (root / "output").mkdir()  # somebody made it, while it was away
    with pytest.raises(NasAway, match="is not mounted"):
        await store.put(source, TEMPORARY, expected=EXPECTED)
    assert files(root) == []
    assert mount()
    try:
        (root / "output").mkdir()
        await store.put(source, TEMPORARY, expected=EXPECTED)
    finally:
        unmount()


@pytest.mark.req("RN-12")
async def test_a_marker_tells_the_nas_from_any_other_folder(root, source):
    store = open_store(str(root), guard="marker")
    with pytest.raises(NasAway, match=MARKER):
        await store.put(source, TEMPORARY, expected=EXPECTED)
    assert list(root.iterdir()) == []
    (root / MARKER).touch()
    await store.put(source, TEMPORARY, expected=EXPECTED)


@pytest.mark.req("RN-12")
@pytest.mark.parametrize("call", ["write", "fsync", "pread"])
@pytest.mark.parametrize(
    ("code", "fault"),
    [(errno.EIO, NasAway), (errno.ESTALE, NasAway), (errno.EACCES, NasAway), (errno.EDQUOT, NasFull)],
)
async def test_a_mount_that_fails_in_mid_copy_is_away_or_full_and_nothing_stays(
    root, source, monkeypatch, call, code, fault
):
    def fail(*_):
        raise OSError(code, os.strerror(code))

    store = open_store(str(root), guard="folder")
    with monkeypatch.context() as broken:
        broken.setattr(os, call, fail)
        with pytest.raises(fault) as failed:
            await store.put(source, TEMPORARY, expected=EXPECTED)
    assert failed.value.code == code
    assert files(root) == []


@pytest.mark.req("RN-12")
async def test_a_mount_that_falls_silent_is_away_and_the_late_copy_touches_no_names(root, source, monkeypatch):
    store = open_store(str(root), guard="folder", stall_s=0.2)
    silent, write = threading.Event(), os.write

    def hang(*arguments):
        silent.wait()
        return write(*arguments)

    with monkeypatch.context() as broken:
        broken.setattr(os, "write", hang)
        with pytest.raises(NasAway, match="no progress"):
            await store.put(source, TEMPORARY, expected=EXPECTED)
    await open_store(str(root), guard="folder").put(source, TEMPORARY, expected=EXPECTED)
    silent.set()
    for thread in threading.enumerate():
        if thread.name == "nas call":
            thread.join(15)
    assert (root / TEMPORARY).read_bytes() == FILM


@pytest.mark.req("RN-12")
async def test_a_file_that_is_too_large_for_the_file_system_does_not_fit_either(root, source):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(FILM) // 2, hard))
    try:
        with pytest.raises(NasFull):
            await open_store(str(root), guard="folder").put(source, TEMPORARY, expected=EXPECTED)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert files(root) == []


@pytest.mark.req("RN-11")
@pytest.mark.parametrize("way", [rename_without_replacing, link_and_unlink])
def test_a_rename_moves_and_never_replaces(root, folder, way):
    (root / "a").write_bytes(b"of a")
    way("a", "b", folder=folder)
    assert files(root) == ["b"]
    (root / "a").write_bytes(b"of another")
    with pytest.raises(FileExistsError):
        way("a", "b", folder=folder)
    assert (root / "b").read_bytes() == b"of a"
    with pytest.raises(FileNotFoundError):
        way("c", "d", folder=folder)


@pytest.mark.parametrize("answer", [errno.EINVAL, errno.ENOSYS])
def test_a_file_system_that_cannot_rename_so_gets_a_link(root, folder, monkeypatch, answer):
    def refuse(*_):
        raise OSError(answer, os.strerror(answer))

    monkeypatch.setattr(rename, "_rename", refuse)
    (root / "a").write_bytes(b"of a")
    rename_without_replacing("a", "b", folder=folder)
    assert files(root) == ["b"]


def test_a_link_that_stands_already_because_an_answer_was_lost_is_ours(root, folder):
    (root / "a").write_bytes(b"of a")
    os.link(root / "a", root / "b")
    link_and_unlink("a", "b", folder=folder)
    assert files(root) == ["b"]


def test_people_find_the_file_under_its_path():
    assert open_store("/mnt/nas").location(FINAL) == "/mnt/nas/2026-11-16/하단_7.mp4"
    assert Path(open_store("/mnt/nas").location(FINAL)).name == FINAL.name
