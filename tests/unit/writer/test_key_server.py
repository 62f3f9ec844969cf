"""The leader serves the keys of subjects, never those of erased ones; edges keep a key for some seconds."""

import asyncio

import msgspec
import pytest

from drover.bus import subject_keys
from drover.bus.subject_keys import KEPT_S, KeyQuestion, Rewrapped, RewrapQuestion, SubjectKeys
from drover.domain.erasure import note_erased, token_of
from drover.eventlog.subject_keys import MemorySubjectKeys
from drover.service.sealing import Ring
from drover.service.subject_sealing import Erased, KeysUnreachable, make_key, rewrap
from drover.writer.key_server import KeyServer

pytestmark = pytest.mark.req("SE-09")
RING = Ring({"k1": b"1" * 32})
NEXT_RING = Ring({"k2": b"2" * 32, "k1": b"1" * 32})
PARTITIONS = ("p0", "p1")


class World:
    """A leader for each partition, its log's erasures, and edges that ask it."""

    def __init__(self, store=None, erased=None):
        self.store = store or MemorySubjectKeys()
        self.erased = erased or {}
        self.now = 100.0
        self.questions = []
        self.servers = {name: KeyServer(self.store, name, lambda: self.erased) for name in PARTITIONS}

    async def ask(self, partition, question, patience_s):
        self.questions.append(question)
        answer = await self.servers[partition].answer(question)
        if answer.problem is not None:
            raise KeysUnreachable(answer.problem)
        return answer

    def edge(self):
        return SubjectKeys("reminder", RING, self.ask, partitions=PARTITIONS, clock=lambda: self.now)

    def erase(self, subject):
        note_erased(self.erased, "reminder", subject)

    async def sealed(self, subject, plain=b"Take your pills"):
        keys = await self.edge().for_sealing([subject])
        return keys[subject].seal(plain, purpose="title")

    async def opened(self, text, edge=None):
        return (await (edge or self.edge()).for_opening([text])).open(text, purpose="title")


@pytest.fixture
def world():
    return World()


async def test_what_one_edge_seals_another_one_opens(world):
    assert await world.opened(await world.sealed("kim")) == b"Take your pills"


async def test_a_key_is_stored_before_it_is_used(world):
    keys = await world.edge().for_sealing(["kim"])
    assert [stored.key.token for stored in world.store.kept.values()] == [keys["kim"].ref.token]


async def test_two_edges_that_make_a_key_at_the_same_time_use_the_same_one(world):
    one, other = await asyncio.gather(world.edge().for_sealing(["kim"]), world.edge().for_sealing(["kim"]))
    text = one["kim"].seal(b"x", purpose="title")
    assert other["kim"].ref == one["kim"].ref
    assert await world.opened(text) == b"x"


async def test_a_thousand_texts_are_opened_with_one_question_for_each_partition(world):
    subjects = [f"user {number}" for number in range(1000)]
    keys = await world.edge().for_sealing(subjects)
    texts = [key.seal(b"x", purpose="title") for key in keys.values()]
    world.questions.clear()
    edge = world.edge()
    opener = await edge.for_opening(texts)
    assert {opener.open(text, purpose="title") for text in texts} == {b"x"}
    assert len(world.questions) == len(PARTITIONS)
    await edge.for_opening(texts)
    assert len(world.questions) == len(PARTITIONS)


async def test_texts_that_no_key_of_a_subject_sealed_are_left_to_the_caller(world):
    await world.edge().for_opening(["plain", "", '{"v":1}'])
    assert world.questions == []


async def test_an_erased_subject_is_not_served_even_while_its_key_is_still_stored(world):
    text = await world.sealed("kim")
    world.erase("kim")
    assert world.store.kept
    with pytest.raises(Erased):
        await world.opened(text)


async def test_an_edge_stops_using_a_key_some_seconds_after_the_erasure(world):
    edge = world.edge()
    text = await world.sealed("kim")
    assert await world.opened(text, edge) == b"Take your pills"
    world.erase("kim")
    world.now += KEPT_S - 0.1
    assert await world.opened(text, edge) == b"Take your pills"
    world.now += 0.2
    with pytest.raises(Erased):
        await world.opened(text, edge)


@pytest.mark.control
async def test_without_a_limit_an_edge_would_use_the_key_for_ever(world, monkeypatch):
    monkeypatch.setattr(subject_keys, "KEPT_S", float("inf"))
    edge = world.edge()
    text = await world.sealed("kim")
    await world.opened(text, edge)
    world.erase("kim")
    world.now += 1_000_000
    assert await world.opened(text, edge) == b"Take your pills"


async def test_the_edge_that_has_a_key_destroyed_forgets_it_at_once(world):
    edge = world.edge()
    text = await world.sealed("kim")
    await world.opened(text, edge)
    world.erase("kim")
    await edge.destroy("kim")
    assert not world.store.kept
    with pytest.raises(Erased):
        await world.opened(text, edge)


async def test_a_key_is_not_destroyed_unless_the_log_says_that_its_subject_was_erased(world):
    text = await world.sealed("kim")
    with pytest.raises(KeysUnreachable):
        await world.edge().destroy("kim")
    assert await world.opened(text) == b"Take your pills"


async def test_an_erased_subject_that_comes_back_gets_another_key(world):
    before = await world.sealed("kim")
    world.erase("kim")
    await world.edge().destroy("kim")
    after = await world.sealed("kim", b"Hello again")
    assert await world.opened(after) == b"Hello again"
    with pytest.raises(Erased):
        await world.opened(before)


async def test_a_subject_whose_key_is_about_to_be_destroyed_gets_no_new_one_yet(world):
    await world.sealed("kim")
    world.erase("kim")
    with pytest.raises(KeysUnreachable):
        await world.sealed("kim")


async def test_a_key_that_a_backup_brings_back_is_not_served_and_is_destroyed_again(world):
    text = await world.sealed("kim")
    backup = dict(world.store.kept)
    world.erase("kim")
    await world.edge().destroy("kim")
    world.store.kept = dict(backup)
    restarted = World(world.store, world.erased)
    with pytest.raises(Erased):
        await restarted.opened(text)
    for server in restarted.servers.values():
        server.begin()
        await server.sweep()
    assert not restarted.store.kept


@pytest.mark.control
async def test_a_backup_that_is_served_without_the_erasures_of_the_log_shows_the_data_again(world):
    text = await world.sealed("kim")
    backup = dict(world.store.kept)
    world.erase("kim")
    await world.edge().destroy("kim")
    world.store.kept = backup
    world.erased = {}
    assert await world.opened(text) == b"Take your pills"


async def test_a_sweep_leaves_an_erasure_that_has_just_been_decided_to_the_next_one(world):
    """The state is ahead of the log: the commit with the erasure may still fail."""
    await world.sealed("kim")
    server = world.servers[next(iter(world.store.kept))[0]]
    server.begin()
    world.erase("kim")
    await server.sweep()
    assert world.store.kept
    await server.sweep()
    assert not world.store.kept


async def test_a_question_with_the_name_of_a_nats_subject_is_refused():
    for token in (">", "*", "a.b", "x" * 23):
        with pytest.raises(msgspec.ValidationError):
            msgspec.json.decode(msgspec.json.encode({"fetch": [token]}), type=KeyQuestion)


async def test_a_key_of_a_generation_that_never_was_is_not_stored(world):
    token = token_of("reminder", "kim")
    answer = await world.servers["p0"].answer(KeyQuestion(create=[make_key(RING, "reminder", token, 7)]))
    assert (answer.keys, world.store.kept) == ([], {})


def stored(world):
    ((partition, _), kept) = next(iter(world.store.kept.items()))
    return world.servers[partition], kept.key


async def rewrapped(server, old, new):
    return (await server.rewrap(RewrapQuestion([Rewrapped(old, new)]))).stored


@pytest.mark.req("SE-10")
async def test_a_key_that_is_wrapped_anew_opens_the_same_text_without_the_old_ring_key(world):
    text = await world.sealed("kim")
    server, key = stored(world)
    assert await rewrapped(server, key, rewrap(NEXT_RING, "reminder", key)) == 1
    only_new = SubjectKeys("reminder", Ring({"k2": b"2" * 32}), world.ask, partitions=PARTITIONS)
    assert await world.opened(text, only_new) == b"Take your pills"


@pytest.mark.req("SE-10")
async def test_a_key_is_replaced_only_by_whoever_knows_what_is_stored_and_by_the_same_key(world):
    await world.sealed("kim")
    server, key = stored(world)
    another = make_key(NEXT_RING, "reminder", key.token, 0)
    later = make_key(NEXT_RING, "reminder", key.token, 1)
    assert await rewrapped(server, make_key(RING, "reminder", key.token, 0), another) == 0
    assert await rewrapped(server, key, later) == 0
    assert await rewrapped(server, key, make_key(NEXT_RING, "reminder", token_of("reminder", "lee"), 0)) == 0
    assert stored(world)[1] == key


@pytest.mark.req("SE-10")
async def test_the_key_of_an_erased_subject_is_not_wrapped_anew(world):
    await world.sealed("kim")
    server, key = stored(world)
    world.erase("kim")
    assert await rewrapped(server, key, rewrap(NEXT_RING, "reminder", key)) == 0


@pytest.mark.req("SE-10")
async def test_wrapping_anew_can_be_repeated(world):
    await world.sealed("kim")
    server, key = stored(world)
    for _ in range(2):
        assert await rewrapped(server, key, rewrap(NEXT_RING, "reminder", key)) == 1
    assert stored(world)[1].kid == "k2"


async def test_a_key_that_was_stored_late_after_an_erasure_keeps_nobody_from_coming_back(world):
    store, gate = world.store, asyncio.Event()
    create = store.create

    async def slow(partition, key):
        await gate.wait()
        return await create(partition, key)

    store.create = slow
    late = asyncio.create_task(world.edge().for_sealing(["kim"]))
    while not world.questions:
        await asyncio.sleep(0)
    world.erase("kim")
    for server in world.servers.values():
        for _ in range(3):
            await server.sweep()
    gate.set()
    await late
    (stored,) = store.kept.values()
    assert stored.key.generation == 0, "it came after the sweeps that look for it"
    text = await world.sealed("kim")
    assert await world.opened(text) == b"Take your pills"
    assert [one.key.generation for one in store.kept.values()] == [1]
