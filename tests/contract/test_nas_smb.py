"""What only SMB has: lines that are lost, accounts, encryption. Against a real Samba server."""

import asyncio
import os
import threading
from contextlib import suppress
from datetime import date
from hashlib import sha256

import psutil
import pytest
from smbprotocol.exceptions import SMBResponseException
from smbprotocol.header import NtStatus, SMB2HeaderResponse

from drover.nas.naming import final_name, temporary_name
from drover.nas.opening import open_store
from drover.nas.smb_file import SmbFile
from drover.nas.store import Digest, NasAway
from drover.testing.faults import faulty_line
from drover.testing.waiting import eventually
from tests.contract.smbd import PASSWORD, SHARE, USER

FINAL = final_name(date(2026, 11, 16), "하단", 7)
TEMPORARY = temporary_name(FINAL, 1)
FILM = b"frame by frame, " * 200_000
EXPECTED = Digest(len(FILM), sha256(FILM).hexdigest())
LOGON_FAILURE = 0xC000006D
STALL_S = 3.0


@pytest.fixture
def folder(samba, tmp_path):
    folder = samba.files / tmp_path.name
    folder.mkdir()
    return folder


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "job_7.mp4"
    path.write_bytes(FILM)
    return path


@pytest.fixture
async def line(samba):
    async with faulty_line("127.0.0.1", samba.port) as line:
        yield line


@pytest.fixture
def open_by(folder):
    def open_by(port, *, user=USER, password=PASSWORD, **other):
        url = f"smb://127.0.0.1:{port}/{SHARE}/{folder.name}"
        return open_store(url, user=user, password=password, **other)

    return open_by


def names(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


class CutAfter:
    """Lets so many bytes pass, over whichever connection, then cuts the line, once."""

    def __init__(self, bytes_max):
        self._left = bytes_max
        self.done = False

    def __call__(self, data):
        if self.done or len(data) < self._left:
            self._left -= len(data)
            return None
        self.done = True
        return self._left


@pytest.mark.req("RN-11", "RN-12")
async def test_a_line_that_is_lost_in_mid_copy_leaves_nothing_behind_and_the_next_try_succeeds(
    folder, source, line, open_by
):
    store = open_by(line.port)
    line.cut_to_server = CutAfter(len(FILM) // 2)
    with pytest.raises(NasAway):
        await store.put(source, TEMPORARY, expected=EXPECTED)
    assert line.cuts == 1
    await eventually(lambda: names(folder) == [])
    await store.put(source, TEMPORARY, expected=EXPECTED)
    assert await store.publish(TEMPORARY, FINAL)
    assert (folder / FINAL).read_bytes() == FILM


CLIP = FILM[:300_000]
PLACES = [1, *range(200, 4000, 200), len(CLIP) // 2, *range(len(CLIP), len(CLIP) + 4000, 500)]
"""In bytes: at the greeting, while signing in, while making the folder, in the middle, at the last answers."""


@pytest.mark.req("RN-11", "RN-12")
@pytest.mark.parametrize("direction", ["cut_to_server", "cut_from_server"])
async def test_wherever_a_line_is_lost_there_is_never_a_part_under_the_final_name(
    folder, source, line, open_by, direction
):
    store = open_by(line.port)
    source.write_bytes(CLIP)
    expected = Digest(len(CLIP), sha256(CLIP).hexdigest())

    async def asking_again(call, while_away):
        while True:
            try:
                return await call()
            except NasAway:
                while_away()

    def nothing_published():
        assert set(names(folder)) <= {TEMPORARY.name}

    def nothing_or_all_published():
        assert not (folder / FINAL).exists() or (folder / FINAL).read_bytes() == CLIP

    for place in PLACES:
        setattr(line, direction, CutAfter(place))
        await asking_again(lambda: store.put(source, TEMPORARY, expected=expected), nothing_published)
        setattr(line, direction, CutAfter(place))
        published = await asking_again(lambda: store.publish(TEMPORARY, FINAL), nothing_or_all_published)
        setattr(line, direction, None)
        assert published or await store.digest(FINAL) == expected  # else: done, and the answer was lost
        assert (folder / FINAL).read_bytes() == CLIP
        await store.remove(TEMPORARY)
        await eventually(lambda: names(folder) == [FINAL.name])
        await store.remove(FINAL)
    assert line.cuts > len(PLACES)


@pytest.mark.req("RN-12")
async def test_a_server_that_falls_silent_in_mid_copy_is_away_and_the_thread_is_freed(folder, source, line, open_by):
    store = open_by(line.port, stall_s=STALL_S)
    heard = bytearray()

    def fall_silent(data):
        heard.extend(data)
        if len(heard) > len(FILM) // 2:
            line.hold()

    line.cut_to_server = fall_silent
    with pytest.raises(NasAway, match="no progress"):
        await store.put(source, TEMPORARY, expected=EXPECTED)
    assert names(folder) == [TEMPORARY.name]
    line.cut_to_server = None
    await eventually(lambda: not [thread for thread in threading.enumerate() if thread.name == "nas call"])
    line.resume()
    await eventually(lambda: names(folder) == [])
    await open_by(line.port).put(source, TEMPORARY, expected=EXPECTED)


@pytest.mark.req("RN-12")
async def test_a_server_that_is_killed_in_mid_copy_is_away_and_its_orphan_is_removed(samba, folder, tmp_path, open_by):
    """Each connection has a process at the server. Killed, it cannot clean up, but the NAS still answers."""
    pipe = tmp_path / "still rendering"
    os.mkfifo(pipe)
    copying = asyncio.create_task(open_by(samba.port).put(pipe, TEMPORARY, expected=EXPECTED))
    feeding = await asyncio.to_thread(pipe.open, "wb", buffering=0)
    with feeding:
        await asyncio.to_thread(feeding.write, FILM[: 1024 * 1024])
        await eventually(lambda: names(folder) == [TEMPORARY.name])
        serving(samba.process.pid, folder / TEMPORARY).kill()
        with suppress(BrokenPipeError):  # the copy may have noticed, and closed its end, before it gets the rest
            await asyncio.to_thread(feeding.write, FILM[1024 * 1024 :])
        with pytest.raises(NasAway):
            await copying
    await eventually(lambda: names(folder) == [])


def serving(master, path):
    for process in psutil.Process(master).children(recursive=True):
        if any(opened.path == str(path) for opened in process.open_files()):
            return process
    raise AssertionError("no process of the server has the file open")


@pytest.mark.req("RN-12")
async def test_a_server_that_refuses_connections_is_away(source, line, open_by):
    line.refuse()
    with pytest.raises(NasAway):
        await open_by(line.port).put(source, TEMPORARY, expected=EXPECTED)


@pytest.mark.parametrize("words", [b"\0\0\0\x08nonsense", b"\0\0\0\x40\xfeSMB" + bytes(60), b""])
async def test_a_server_that_speaks_something_else_is_away(open_by, words):
    async def answer(reader, writer):
        writer.write(words)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(NasAway):
            await open_by(port, stall_s=STALL_S).free_bytes()


@pytest.mark.req("RN-22")
@pytest.mark.parametrize("domain", ["", "OFFICE"])
async def test_an_account_may_be_of_a_domain_which_the_server_is_told(source, line, open_by, domain):
    heard = bytearray()
    line.cut_to_server = heard.extend
    store = open_by(line.port, user=f"{domain}\\{USER}" if domain else USER)
    await store.put(source, TEMPORARY, expected=EXPECTED)
    assert await store.digest(TEMPORARY) == EXPECTED
    assert f"{domain}{USER}".encode("utf-16-le") in heard  # so they stand in NTLM's last message


@pytest.mark.req("RN-22")
@pytest.mark.parametrize(("user", "password"), [(USER, "wrong"), ("OFFICE\\stranger", PASSWORD)])
async def test_an_account_that_is_refused_says_so_without_its_password(samba, open_by, user, password):
    with pytest.raises(NasAway) as away:
        await open_by(samba.port, user=user, password=password).free_bytes()
    assert away.value.code == LOGON_FAILURE
    assert "LogonFailure" in away.value.reason and password not in str(away.value)


@pytest.mark.parametrize("encrypt", [True, False])
async def test_what_goes_over_the_line_is_encrypted_unless_that_is_switched_off(source, line, open_by, encrypt):
    heard = bytearray()
    line.cut_to_server = heard.extend
    store = open_by(line.port) if encrypt else open_by(line.port, encrypt=False)
    await store.put(source, TEMPORARY, expected=EXPECTED)
    assert len(heard) > len(FILM)
    assert (FILM[:64] in heard) is not encrypt


@pytest.mark.req("RN-11")
async def test_a_server_without_links_renames_and_replaces_nothing_either(samba, folder, source, open_by, monkeypatch):
    def refused(self, name):
        answer = SMB2HeaderResponse()
        answer["status"] = NtStatus.STATUS_NOT_SUPPORTED
        raise SMBResponseException(answer)

    monkeypatch.setattr(SmbFile, "link", refused)
    store = open_by(samba.port)
    await store.put(source, TEMPORARY, expected=EXPECTED)
    assert await store.publish(TEMPORARY, FINAL) is True
    assert names(folder) == [FINAL.name]
    await store.put(source, TEMPORARY, expected=EXPECTED)
    assert await store.publish(TEMPORARY, FINAL) is False
    assert names(folder) == sorted([FINAL.name, TEMPORARY.name])


async def test_people_find_the_file_under_its_windows_path(open_by, folder):
    assert open_by(445).location(FINAL) == rf"\\127.0.0.1\{SHARE}\{folder.name}\2026-11-16\하단_7.mp4"
