"""A person is erased on a running platform: nothing of theirs can be read anywhere, also after backups are restored."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest

from drover.bus.connection import connected
from drover.bus.subject_keys import KEPT_S, SubjectKeys, asking
from drover.cli.exits import Exit
from drover.domain.contexts import SUBJECT_CONTEXTS
from drover.domain.erasure import token_of
from drover.domain.identity import IDENTITY
from drover.domain.identity.subjects import person_token
from drover.domain.reminder import REMINDER
from drover.domain.render import RENDER
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.snapshots import JetStreamSnapshots
from drover.eventlog.streams import partitions_of
from drover.service.sealing import SealDamaged, Sealer
from drover.service.subject_sealing import Erased
from drover.testing.waiting import eventually
from drover.writer.fold import Fold, encode_image
from drover.writer.snapshots import snapshot_version
from tests.e2e import remains
from tests.e2e.process import run_to_the_end

OTHER = "lee"
TEXTS = ("Collect the results of Kim Minji", "Room 12, ask for Dr. Yoon")
OTHERS_TEXT = "Call the school of Lee Jun"
NAME = "KIM MINJI OF SEOUL"
OTHERS_NAME = "LEE JUN OF BUSAN"
OTHERS_PAGE = "page-of-lee"
PASSWORD = "correct horse battery"


class Person(NamedTuple):
    """Somebody with an account, and the network address that they sign in from."""

    email: str
    address: str


KIM = Person("kim.minji@example.com", "203.0.113.77")
LEE = Person("lee.jun@example.com", "198.51.100.23")
READABLE_BEFORE = {*TEXTS, OTHERS_TEXT, NAME, OTHERS_NAME, *KIM, *LEE}
READABLE_AFTER = {OTHERS_TEXT, OTHERS_NAME, *LEE}


def gfx(name: str) -> dict:
    slots = [{"slot_number": 1, "fields": {"name": name, "stack": "250"}}]
    return {"composition_name": "Chips", "slots": slots, "single_fields": {"table_id": "1"}}


class Life:
    """A platform with two people on it, and the command line for it. Kim has an account and reminders under one id."""

    def __init__(self, start, folder: Path) -> None:
        self._start = start
        self._folder = folder
        self.platform = None
        self.user = ""
        """The id of Kim, who is erased."""
        self.admin: dict[str, str] = {}

    async def begin(self) -> None:
        self.platform = await self._start(DROVER_TRUSTED_PROXIES="127.0.0.1")

    async def stop(self) -> None:
        self.platform.send(signal.SIGTERM)
        assert await self.platform.ended() == 0

    async def drover(self, *words: str | Path) -> str:
        output = self._folder / "drover.log"
        output.unlink(missing_ok=True)
        code, said = await run_to_the_end(*words, "--data-dir", self.platform.data_dir, output=output)
        assert code == Exit.OK, said
        return said

    async def fill(self) -> None:
        await self.be_admin()
        self.user, _ = [await self.sign_up(person) for person in (KIM, LEE)]
        async with self.platform.calling() as http:
            title, body = TEXTS
            for page in ("page-1", "page-2"):
                alarm = {"page_id": page, "user_id": self.user, "title": title, "body": body}
                assert (await http.call("POST", "/api/reminder/register-by-page", json=alarm)).status == 201
            alarm = {"page_id": OTHERS_PAGE, "user_id": OTHER, "title": OTHERS_TEXT}
            assert (await http.call("POST", "/api/reminder/register-by-page", json=alarm)).status == 201
            for name in (NAME, OTHERS_NAME):
                wanted = {"composition_id": "comp_1", "gfx_data": gfx(name)}
                assert (await http.call("POST", "/rest/v1/render_queue", json=wanted)).status == 201
            ended = await http.call("PATCH", "/rest/v1/render_queue?status=eq.pending", json={"status": "cancelled"})
            assert ended.status in (200, 204), ended
        await eventually(self.shows_all)

    async def shows_all(self) -> bool:
        return (
            len(await self.alarms()) == 3
            and await self.renders() == [gfx(NAME), gfx(OTHERS_NAME)]
            and {*KIM, *LEE} <= {*await self.emails(), *await self.addresses()}
        )

    async def be_admin(self) -> None:
        """Sign in as the admin of the platform, as a browser does."""
        keys = self.platform.credentials
        who = {"email": keys["admin_email"], "password": keys["admin_password"]}
        same_origin = {"Sec-Fetch-Site": "same-origin"}
        async with self.platform.calling() as http:
            answer = await http.call("POST", "/api/auth/sign-in", json=who, headers=same_origin)
        assert answer.status == 200, answer
        self.admin = same_origin | {"Authorization": f"Bearer {answer.json['access_token']}"}

    async def ask(self, path: str):
        """Ask as the admin."""
        async with self.platform.calling() as http:
            answer = await http.call("GET", path, headers=self.admin)
        assert answer.status == 200, answer
        return answer.json

    async def sign_up(self, person: Person) -> str:
        """Make the account of a person, who then signs in through a proxy. Returns the id."""
        new = {"email": person.email, "password": PASSWORD, "role": "operator"}
        async with self.platform.calling() as http:
            made = await http.call("POST", "/api/accounts", json=new, headers=self.admin)
        assert made.status == 201, made
        assert await self.sign_in(person) == 200
        return made.json["id"]

    async def sign_in(self, person: Person) -> int:
        headers = {
            "Sec-Fetch-Site": "same-origin",
            "X-Forwarded-For": person.address,
            "X-Forwarded-Proto": "https",
        }
        async with self.platform.calling() as http:
            who = {"email": person.email, "password": PASSWORD}
            return (await http.call("POST", "/api/auth/sign-in", json=who, headers=headers)).status

    async def emails(self) -> set[str]:
        return {account["email"] for account in (await self.ask("/api/accounts"))["accounts"]}

    async def addresses(self, by: str = "") -> set[str | None]:
        """The network addresses that the audit shows."""
        entries = (await self.ask(f"/api/audit?limit=200{by and f'&by={by}'}"))["items"]
        return {entry["address"] for entry in entries}

    async def shows_no_address_of_the_erased(self) -> bool:
        return await self.addresses(f"user:{self.user}") == {None}

    async def alarms(self) -> list[str]:
        async with self.platform.calling() as http:
            return [row["title"] for row in await http.rows("alarm", "order=page_id")]

    async def renders(self) -> list:
        async with self.platform.calling() as http:
            rows = await http.rows("render_queue", "select=id,status,gfx_data&order=id")
            assert all(row["status"] == "cancelled" for row in rows)
            return [row["gfx_data"] for row in rows]

    async def shows_the_other_render(self) -> bool:
        """Whether the gfx_data of the first one is gone from answers. A gateway keeps a key for some seconds."""
        return await self.renders() == [None, gfx(OTHERS_NAME)]

    async def erase_over_http(self) -> None:
        """As an admin does it on the dashboard."""
        await self.be_admin()
        me = (await self.ask("/api/auth/me"))["user"]["id"]
        async with self.platform.calling() as http:
            refused = await http.call("POST", f"/api/erasures/users/{self.user}", anon=True)
            assert refused.status == 403, "only admins erase"
            last = await http.call("POST", f"/api/erasures/users/{me}", headers=self.admin)
            assert (last.status, "make somebody else one first" in last.json["message"]) == (409, True)
            user = await http.call("POST", f"/api/erasures/users/{self.user}", headers=self.admin)
            assert (user.status, user.json["alarms"], user.json["is_complete"]) == (200, 2, True)
            assert (user.json["contexts"], user.json["had_account"]) == (["identity", "reminder"], True)
            assert (await http.call("POST", "/api/erasures/renders/1", headers=self.admin)).status == 200

    async def save_snapshots(self) -> None:
        """As the leaders do it once a day. They begin with these at the next start."""
        async with connected(self.platform.credentials["nats_url"], "test") as client:
            for decider in (REMINDER, RENDER, IDENTITY):
                for partition in await partitions_of(client, decider.context):
                    fold = await _folded(client, decider, partition)
                    if fold.seq:
                        await JetStreamSnapshots(client).save(
                            partition, snapshot_version(decider), _image(fold), seq=fold.seq, commit=fold.commit
                        )

    async def search(self, *folders: Path) -> remains.Places:
        """Everything that is left on the machine, with a new export and a new archive, and what is in more folders."""
        made = self._folder / "made"
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir()
        await self.drover("archive", "create", made / "archive")
        await self.export(made)
        return await remains.places_of(self.platform.credentials, self.platform.data_dir, made, *folders)

    async def export(self, folder: Path) -> None:
        for context in SUBJECT_CONTEXTS:
            file = folder / f"export-{context}.ndjson"
            await self.drover("events", "export", "--context", context, "--output", file)

    def sealed_of_the_erased(self, places: remains.Places) -> dict[str, list[str]]:
        """By context, all that is sealed with a key of Kim."""
        tokens = {"reminder": token_of("reminder", self.user), "identity": person_token(self.user)}
        texts = remains.sealed_in(places)
        return {context: [text for text in texts if f".{token}." in text] for context, token in tokens.items()}

    async def opened_by_the_leaders(self, sealed: dict[str, list[str]]) -> set[str]:
        """What a process reads that has the ring and asks the leaders for keys."""
        found: set[str] = set()
        async with connected(self.platform.credentials["nats_url"], "test") as client:
            for context, texts in sealed.items():
                names = [partition.name for partition in await partitions_of(client, context)]
                ring = remains.ring_of(self.platform.data_dir)
                opener = await SubjectKeys(context, ring, asking(client, context), partitions=names).for_opening(texts)
                for text, purpose in product(texts, remains.PURPOSES):
                    with suppress(Erased, SealDamaged):
                        found.add(opener.open(text, purpose=purpose).decode())
        return found


@pytest.fixture
def life(start, tmp_path) -> Life:
    return Life(start, tmp_path)


async def _folded(client, decider, partition) -> Fold:
    log, fold = JetStreamLog(client, partition), Fold(decider)
    last = await log.last()
    async with log.read(0) as reader:
        while last and fold.seq < last.seq:
            for commit in await reader.next():
                fold.apply(commit)
    return fold


async def _image(fold: Fold) -> AsyncIterator[bytes]:
    yield encode_image(fold)


def secrets_in(texts: set[str]) -> set[str]:
    """Which of the secrets are among texts that could be read."""
    return {secret for secret in READABLE_BEFORE if any(secret in text for text in texts)}


@pytest.mark.control
def test_the_search_finds_data_that_has_its_key_inside():
    old = Sealer({"k1": b"1" * 32}).seal(KIM.email.encode(), context="identity.email", subject="kim")
    event, row = json.dumps({"email_sealed": old}), old.replace('"', '""')
    places = {name: text.encode() for name, text in (("text", old), ("event", event), ("row", row), ("no", "{}"))}
    assert remains.with_their_keys(places) == {"text", "event", "row"}


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.req("SE-09")
async def test_an_erased_person_is_readable_nowhere_and_no_backup_brings_them_back(life, tmp_path):
    backups = tmp_path / "backups"
    await life.begin()
    await life.fill()
    ring = remains.ring_of(life.platform.data_dir)
    await life.drover("archive", "create", backups / "archive")
    await life.export(backups)
    await life.drover("sealing", "backup", tmp_path / "keys")
    await life.save_snapshots()
    await life.stop()
    shutil.copytree(life.platform.data_dir / "nats", tmp_path / "nats")
    await life.begin()
    # Before: whoever has all files and the ring reads everything, so this search finds what can be found.
    before = await remains.places_of(life.platform.credentials, life.platform.data_dir, backups)
    assert secrets_in(remains.readable(before, ring)) == READABLE_BEFORE
    sealed = life.sealed_of_the_erased(before)
    assert await life.opened_by_the_leaders(sealed) >= {*TEXTS, *KIM}

    await life.erase_over_http()
    after = await life.search(backups)
    for place in (
        "stream REMINDER",
        "stream SNAPSHOTS",
        "tables",
        "made/archive",
        "made/export",
        "/postgres",
        "backups",
    ):
        assert any(place in name for name in remains.those_with(after, OTHERS_PAGE)), f"{place} was not searched"
    for place in ("stream IDENTITY", "stream SNAPSHOTS", "tables", "made/archive", "made/export", "backups"):
        assert any(place in name for name in remains.those_with(after, life.user)), f"{place} was not searched"
    for secret in (*TEXTS, NAME, KIM.email):
        assert remains.those_with(after, secret) == []
    # Lines of requests are no record of the platform: they are bounded, and for operators to delete (operations.md).
    assert remains.those_with(after, KIM.address) == [str(life.platform.data_dir / "access.log")]
    assert remains.with_their_keys(after) == set(), "nothing has its key inside, which could not be destroyed"
    assert secrets_in(remains.readable(after, ring)) == READABLE_AFTER
    assert await life.alarms() == [OTHERS_TEXT]
    assert KIM.email not in await life.emails()
    assert LEE.email in await life.emails()
    await eventually(life.shows_no_address_of_the_erased, KEPT_S + 5)
    assert (await life.sign_in(KIM), await life.sign_in(LEE)) == (401, 200)
    await eventually(life.shows_the_other_render, KEPT_S + 5)
    assert "UserErased" in await life.drover("events", "grep", "UserErased", "--context", "reminder")
    assert "PersonErased" in await life.drover("events", "grep", "PersonErased", "--context", "identity")
    await life.drover("verify")

    # The files of NATS with all keys come back from before, under a log that knows of the erasure.
    await life.stop()
    for stream in (life.platform.data_dir / "nats").rglob("KEYS_*"):
        shutil.rmtree(stream)
        (old,) = (tmp_path / "nats").rglob(stream.name)
        shutil.copytree(old, stream)
    sealed = life.sealed_of_the_erased(after)
    assert all(sealed.values())
    await life.begin()
    assert await life.opened_by_the_leaders(sealed) == set()
    assert await life.renders() == [None, gfx(OTHERS_NAME)]

    async def erased_again():
        found = await remains.places_of(life.platform.credentials, life.platform.data_dir, backups)
        return secrets_in(remains.readable(found, ring)) == READABLE_AFTER

    await eventually(erased_again, 30)

    # All is lost, and comes back from the archive and from a backup of the keys that is older than the erasure.
    kept = tmp_path / "kept"
    kept.mkdir()
    shutil.copytree(tmp_path / "made" / "archive", kept / "archive")
    for name in ("secrets.json", "credentials.json"):
        shutil.copy2(life.platform.data_dir / name, kept)
    await life.stop()
    shutil.rmtree(life.platform.data_dir)
    await life.drover("archive", "restore", kept / "archive")
    for name in ("secrets.json", "credentials.json"):
        shutil.copy2(kept / name, life.platform.data_dir)
    await life.begin()
    (file,) = (tmp_path / "keys").iterdir()
    said = await life.drover("sealing", "restore", file)
    saved = len(file.read_text().splitlines())
    assert f"{saved - 3} of {saved} keys are stored now. Erased since the backup, not put back: 3." in said
    assert await life.opened_by_the_leaders(sealed) == set()
    assert (await life.sign_in(KIM), await life.sign_in(LEE)) == (401, 200)
    await eventually(life.shows_the_other_render, 30)
    assert await life.alarms() == [OTHERS_TEXT]
    assert await erased_again()
    await life.drover("verify")
