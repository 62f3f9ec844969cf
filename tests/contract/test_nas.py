"""One suite for the port of the NAS, run on every adapter: a folder, and a share of a real Samba server."""

import asyncio
import os
import subprocess
import threading
from contextlib import suppress
from datetime import date
from hashlib import sha256
from pathlib import Path, PurePosixPath

import pytest
from prometheus_client import REGISTRY

from drover.domain.errors import DroverError
from drover.nas.naming import final_name, temporary_name
from drover.nas.opening import open_store
from drover.nas.store import CopyMismatch, Digest, NasAway, NasFull, SourceUnreadable, TooLate
from drover.testing.waiting import eventually
from tests.contract.smbd import PASSWORD, SHARE, USER

DAY = date(2026, 11, 16)
FINAL = final_name(DAY, "자막 하단", 7)
TEMPORARY = temporary_name(FINAL, 1)
FILM = os.urandom(3 * 1024 * 1024 + 17)
SMALL_DISK_BYTES = 2 * 1024 * 1024


class Nas:
    """A root on the NAS, and the same folder as this machine sees it."""

    def __init__(self, folder, url, **access):
        self.folder = folder
        self.url = url
        self.access = access
        self.store = self.open()

    def open(self, below="", **other):
        return open_store(f"{self.url}{below}", **{**self.access, **other})

    def at(self, path):
        return self.folder / path

    def names(self):
        return sorted(path.name for path in self.folder.rglob("*") if path.is_file())


def mounted_nas(request, name):
    folder = request.getfixturevalue("tmp_path") / name
    folder.mkdir(exist_ok=True)
    return Nas(folder, str(folder), guard="folder")


def smb_nas(request, name):
    server = request.getfixturevalue("samba")
    folder = server.files / request.getfixturevalue("tmp_path").name / name
    folder.mkdir(parents=True, exist_ok=True)
    url = f"smb://127.0.0.1:{server.port}/{SHARE}/{folder.relative_to(server.files)}"
    return Nas(folder, url, user=USER, password=PASSWORD)


@pytest.fixture(params=[mounted_nas, smb_nas], ids=["mounted", "smb"])
def make_nas(request):
    return lambda name="nas": request.param(request, name)


@pytest.fixture
def nas(make_nas):
    return make_nas()


@pytest.fixture
def source(tmp_path):
    return file_of(tmp_path / "job_7.mp4", FILM)


@pytest.fixture
def small_nas(make_nas):
    """On a file system with room for less than the film."""
    nas = make_nas("small")
    options = ["-t", "tmpfs", "-o", f"size={SMALL_DISK_BYTES},mode=777", "tmpfs"]
    if subprocess.run(["mount", *options, nas.folder], capture_output=True, check=False).returncode != 0:
        pytest.skip("a small disk cannot be made here: mounting a tmpfs needs root")
    yield nas
    subprocess.run(["umount", "--lazy", nas.folder], check=True)


def file_of(path, content):
    path.write_bytes(content)
    return path


def digest(content):
    return Digest(len(content), sha256(content).hexdigest())


async def put(nas, source, temporary=TEMPORARY, content=FILM):
    await nas.store.put(source, temporary, expected=digest(content))


@pytest.mark.req("RN-11")
async def test_a_copy_stands_whole_under_its_temporary_name_and_under_no_other(nas, source):
    await put(nas, source)
    assert nas.at(TEMPORARY).read_bytes() == FILM
    assert nas.names() == [TEMPORARY.name]


@pytest.mark.req("RN-11")
async def test_publishing_gives_the_file_its_final_name_and_takes_the_temporary_one_away(nas, source):
    await put(nas, source)
    assert await nas.store.publish(TEMPORARY, FINAL) is True
    assert nas.at("2026-11-16/자막 하단_7.mp4").read_bytes() == FILM
    assert nas.names() == [FINAL.name]


@pytest.mark.req("RN-11")
async def test_publishing_never_replaces_a_file(nas, source):
    nas.at(FINAL.parent).mkdir()
    file_of(nas.at(FINAL), b"of the winner")
    await put(nas, source)
    assert await nas.store.publish(TEMPORARY, FINAL) is False
    assert nas.at(FINAL).read_bytes() == b"of the winner"
    assert nas.at(TEMPORARY).read_bytes() == FILM


async def test_publishing_again_after_an_answer_was_lost_finds_the_name_taken(nas, source):
    await put(nas, source)
    await nas.store.publish(TEMPORARY, FINAL)
    assert await nas.store.publish(TEMPORARY, FINAL) is False
    assert await nas.store.digest(FINAL) == digest(FILM)


async def test_there_must_be_something_to_publish(nas, source):
    await put(nas, source)
    await nas.store.remove(TEMPORARY)
    with pytest.raises(NasAway):
        await nas.store.publish(TEMPORARY, FINAL)
    assert nas.names() == []


async def test_a_name_in_another_folder_is_not_published(nas):
    with pytest.raises(ValueError, match="same folder"):
        await nas.store.publish(TEMPORARY, PurePosixPath("elsewhere") / FINAL.name)


async def test_what_an_earlier_try_left_under_the_temporary_name_is_replaced(nas, source):
    nas.at(FINAL.parent).mkdir()
    file_of(nas.at(TEMPORARY), bytes(len(FILM) + 99))
    await put(nas, source)
    assert nas.at(TEMPORARY).read_bytes() == FILM


async def test_an_empty_file_can_be_copied_too(nas, tmp_path):
    await put(nas, file_of(tmp_path / "empty", b""), content=b"")
    assert await nas.store.digest(TEMPORARY) == digest(b"")


@pytest.mark.req("RN-11", "RN-24")
async def test_a_copy_of_another_size_is_refused_and_removed(nas, source):
    expected = digest(FILM + b"the end of it")
    with pytest.raises(CopyMismatch) as refused:
        await nas.store.put(source, TEMPORARY, expected=expected)
    assert str(refused.value) == "File size mismatch after copy"
    assert (refused.value.expected, refused.value.found) == (expected, digest(FILM))
    assert nas.names() == []


@pytest.mark.req("RN-11")
async def test_a_copy_with_another_content_is_refused_and_removed(nas, source):
    with pytest.raises(CopyMismatch, match="File content mismatch after copy"):
        await nas.store.put(source, TEMPORARY, expected=digest(FILM[::-1]))
    assert nas.names() == []


async def test_a_source_that_is_gone_is_not_blamed_on_the_nas(nas, tmp_path):
    with pytest.raises(SourceUnreadable) as refused:
        await put(nas, tmp_path / "gone.mp4")
    assert refused.value.source == tmp_path / "gone.mp4"
    assert nas.names() == []


async def test_the_digest_of_a_file_is_that_of_its_content(nas, source):
    await put(nas, source)
    assert await nas.store.digest(TEMPORARY) == digest(FILM)


async def test_what_is_absent_has_no_digest_and_can_be_removed(nas, source):
    for _ in ("without its folder", "within it"):
        assert await nas.store.digest(FINAL) is None
        await nas.store.remove(FINAL)
        await put(nas, source)


async def test_removing_takes_one_file_away(nas, source):
    await put(nas, source)
    await put(nas, source, temporary_name(FINAL, 2))
    await nas.store.remove(TEMPORARY)
    assert nas.names() == [temporary_name(FINAL, 2).name]


def closed():
    raise TooLate("the caller has slept")


@pytest.mark.req("RN-04", "RN-11")
async def test_what_comes_too_late_changes_nothing(nas, source):
    """A worker may sleep between asking whether a name is still its own, and using it."""
    await nas.store.put(source, TEMPORARY, expected=digest(FILM))
    with pytest.raises(TooLate):
        await nas.store.publish(TEMPORARY, FINAL, fence=closed)
    with pytest.raises(TooLate):
        await nas.store.remove(TEMPORARY, fence=closed)
    assert nas.names() == [TEMPORARY.name]
    assert nas.at(TEMPORARY).read_bytes() == FILM


async def test_orphan_temporaries_are_listed_and_nothing_else(nas, source):
    older = temporary_name(final_name(date(2025, 1, 1), "하단", 3), 2)
    for path in (TEMPORARY, older, FINAL, PurePosixPath("2026-11-16/.hidden"), PurePosixPath("2026-11-16/notes.part")):
        nas.at(path.parent).mkdir(exist_ok=True)
        file_of(nas.at(path), b"")
    nas.at("archive").mkdir()
    file_of(nas.at("archive") / TEMPORARY.name, b"")
    file_of(nas.at("2024-01-01"), b"a file that is called like a day")
    assert sorted(await nas.store.temporaries()) == sorted([TEMPORARY, older])


async def test_no_temporaries_are_listed_in_an_empty_store(nas):
    assert await nas.store.temporaries() == []


@pytest.mark.parametrize("path", ["../out.mp4", "/etc/passwd", "day/../../out.mp4", "day\\..\\out.mp4", ""])
async def test_no_path_leads_out_of_the_store(nas, source, path):
    outside = PurePosixPath(path)
    for call in (
        lambda: nas.store.put(source, outside, expected=digest(FILM)),
        lambda: nas.store.publish(outside, outside),
        lambda: nas.store.digest(outside),
        lambda: nas.store.remove(outside),
    ):
        with pytest.raises(ValueError):
            await call()


@pytest.mark.req("RN-12")
async def test_a_root_that_is_missing_means_that_the_nas_is_away_and_is_not_made(nas, source):
    elsewhere = nas.open("/not/mounted")
    for call in (
        lambda: elsewhere.put(source, TEMPORARY, expected=digest(FILM)),
        lambda: elsewhere.publish(TEMPORARY, FINAL),
        lambda: elsewhere.digest(FINAL),
        lambda: elsewhere.remove(TEMPORARY),
        lambda: elsewhere.temporaries(),
        lambda: elsewhere.free_bytes(),
    ):
        with pytest.raises(NasAway) as away:
            await call()
        assert isinstance(away.value, DroverError) and away.value.code
    assert list(nas.folder.iterdir()) == []


@pytest.mark.req("RN-12")
async def test_a_full_disk_is_told_as_such_and_nothing_stays_behind(small_nas, source, tmp_path):
    with pytest.raises(NasFull) as full:
        await put(small_nas, source)
    assert full.value.code
    assert small_nas.names() == []
    little = FILM[: SMALL_DISK_BYTES // 2]
    await put(small_nas, file_of(tmp_path / "little", little), content=little)


async def test_free_space_is_what_the_file_system_has_left(small_nas):
    assert await small_nas.store.free_bytes() == SMALL_DISK_BYTES


@pytest.mark.req("RN-11")
async def test_of_many_writers_of_one_final_name_exactly_one_wins_and_no_reader_ever_sees_a_part(nas, tmp_path):
    writers = 6
    films = [os.urandom(200_000) for _ in range(writers)]
    sources = [file_of(tmp_path / f"film{number}", film) for number, film in enumerate(films)]
    names = [temporary_name(FINAL, number) for number in range(writers)]
    won = set()
    with watching(nas.at(FINAL)) as seen:
        for number in range(writers):
            await put(nas, sources[number], names[number], films[number])
        for _ in range(10):  # a race is not lost each time
            answers = await asyncio.gather(*(nas.store.publish(name, FINAL) for name in names))
            assert sum(answers) == 1
            winner = answers.index(True)
            won.add(digest(films[winner]).sha256)
            assert await nas.store.digest(FINAL) == digest(films[winner])
            assert sorted(nas.names()) == sorted({FINAL.name, *(name.name for name in names)} - {names[winner].name})
            await eventually(lambda: won <= seen)
            await nas.store.remove(FINAL)
            await put(nas, sources[winner], names[winner], films[winner])
    assert seen == won


@pytest.mark.req("RN-11")
async def test_a_reader_that_looks_all_the_time_sees_nothing_or_the_whole_file(nas, source):
    with watching(nas.at(FINAL)) as seen:
        for _ in range(5):
            await put(nas, source)
            assert await nas.store.publish(TEMPORARY, FINAL)
            await eventually(lambda: seen)
            await nas.store.remove(FINAL)
    assert seen == {digest(FILM).sha256}


async def test_a_cancelled_copy_stops_and_removes_what_it_wrote(nas, tmp_path):
    pipe = tmp_path / "still rendering"
    os.mkfifo(pipe)
    copying = asyncio.create_task(put(nas, pipe))

    def render_without_end():
        with suppress(BrokenPipeError), pipe.open("wb", buffering=0) as rendering:
            while True:
                rendering.write(FILM[:100_000])

    rendering = asyncio.create_task(asyncio.to_thread(render_without_end))
    await eventually(lambda: nas.names() == [TEMPORARY.name])
    copying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await copying
    assert nas.names() == []
    await rendering


async def test_the_time_of_each_copy_that_succeeds_is_measured(nas, source):
    def measured():
        return REGISTRY.get_sample_value("nas_copy_duration_seconds_count") or 0.0

    before = measured()
    await put(nas, source)
    with pytest.raises(CopyMismatch):
        await put(nas, source, content=b"another")
    assert measured() == before + 1


class watching:  # noqa: N801 - reads as a word in `with`
    """A reader in a thread of its own that opens a path again and again: the digests of all that it ever saw."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: set[str] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def _look(self):
        while not self._over.wait(0.001):
            with suppress(FileNotFoundError):
                self._seen.add(sha256(self._path.read_bytes()).hexdigest())

    def __enter__(self):
        self._thread.start()
        return self._seen

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()


@pytest.mark.req("EV-05")
async def test_a_file_is_read_piece_by_piece(nas, source):
    await put(nas, source)
    read, size_bytes = nas.store.read, len(FILM)
    assert await read(TEMPORARY, 0, 10) == (size_bytes, FILM[:10])
    assert await read(TEMPORARY, 1_000_000, 2_000_000) == (size_bytes, FILM[1_000_000:3_000_000])
    assert await read(TEMPORARY, size_bytes - 5, 100) == (size_bytes, FILM[-5:])
    assert await read(TEMPORARY, size_bytes, 100) == (size_bytes, b"")
    assert await read(FINAL, 0, 10) is None


@pytest.mark.req("EV-05")
def test_a_location_leads_back_to_its_path_however_a_worker_sees_the_nas(nas):
    assert nas.store.inside(nas.store.location(FINAL)) == FINAL
    assert nas.store.inside(rf"\\nas.local\share\{FINAL.parent}\{FINAL.name}") == FINAL
    assert nas.store.inside(f"/mnt/another/{FINAL}") == FINAL
    for elsewhere in ("", "/etc/passwd", f"/mnt/{FINAL.name}", "2026-11-16/..", "2026-11-16/a.mov", str(TEMPORARY)):
        assert nas.store.inside(elsewhere) is None, elsewhere
