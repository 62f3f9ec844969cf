"""Streams are created, described, changed and deleted."""

import nats.js.api as api
import pytest

from drover.testing.waiting import eventually
from tests.contract.nats.conftest import Stream, refused


@pytest.fixture
def other(stream):
    return Stream(stream.client, f"{stream.name}X")


async def test_a_new_stream_says_how_it_is_configured(stream):
    config = (await stream.api("STREAM.INFO"))["config"]
    expected = dict.fromkeys(("max_consumers", "max_msgs", "max_bytes", "max_msgs_per_subject", "max_msg_size"), -1)
    expected |= dict.fromkeys(("allow_direct", "mirror_direct", "sealed", "deny_delete", "deny_purge"), False)
    expected |= dict.fromkeys(("allow_rollup_hdrs", "allow_msg_ttl"), False)
    expected |= {"name": stream.name, "subjects": [f"{stream.name}.*"], "retention": "limits", "discard": "new"}
    expected |= {"storage": "file", "num_replicas": 1, "compression": "none", "max_age": 0}
    expected |= {"duplicate_window": 120 * 10**9}
    of_the_server = ("metadata", "consumer_limits")
    assert {option: value for option, value in config.items() if option not in of_the_server} == expected


async def test_an_empty_stream_has_neither_a_first_nor_a_last_message(stream):
    assert await stream.bounds() == (0, 0, 0)


async def test_the_state_of_a_stream_counts_messages_and_subjects(stream):
    for part in "aab":
        await stream.put(part)
    info = await stream.api("STREAM.INFO", {"subjects_filter": stream.subject("*")})
    assert info["state"]["num_subjects"] == 2
    assert info["state"]["subjects"] == {stream.subject("a"): 2, stream.subject("b"): 1}


async def test_creating_the_same_stream_again_changes_nothing(stream):
    await stream.put("a")
    assert (await stream.create())["state"]["messages"] == 1


async def test_creating_a_stream_with_other_options_is_refused(stream):
    with refused(10058, "stream name already in use with a different configuration"):
        await stream.create(max_msgs=7)


@pytest.mark.parametrize("pattern", ["{}.a", "{}.>", "{}.*"])
async def test_two_streams_cannot_store_the_same_subject(stream, other, pattern):
    with refused(10065, "subjects overlap with an existing stream"):
        await other.create(subjects=[pattern.format(stream.name)])


async def test_subjects_of_another_depth_do_not_overlap(stream, other):
    await other.create(subjects=[f"{stream.name}.*.*"])
    assert (await other.request(f"{stream.name}.a.b"))["stream"] == other.name


async def test_one_server_refuses_to_keep_several_copies(other):
    with refused(10074, "replicas > 1 not supported in non-clustered mode"):
        await other.create(num_replicas=3)


async def test_a_stream_can_begin_at_a_given_sequence(other):
    await other.create(first_seq=100, compression="s2")
    assert await other.bounds() == (100, 99, 0)
    assert await other.put("a", after=0, Nats_Expected_Last_Sequence=99) == 100


async def test_metadata_can_be_changed_and_messages_stay(stream):
    await stream.put("a")
    jetstream = stream.client.jetstream()
    config = (await jetstream.stream_info(stream.name)).config
    await jetstream.update_stream(config.evolve(metadata={"colour": "red"}))
    info = await jetstream.stream_info(stream.name)
    assert (info.config.metadata["colour"], info.state.messages) == ("red", 1)


@pytest.mark.parametrize(("denial", "text"), [("deny_purge", "deny purge"), ("deny_delete", "deny message deletes")])
async def test_a_denial_cannot_be_taken_back(stream, denial, text):
    await stream.update(**{denial: True})
    with refused(10052, f"stream configuration update can not cancel {text}"):
        await stream.update(**{denial: False})
    assert (await stream.api("STREAM.INFO"))["config"][denial]


async def test_updating_a_stream_that_does_not_exist_is_refused(other):
    with refused(10059, "stream not found"):
        await other.update()


async def test_a_deleted_stream_and_its_messages_are_gone(stream):
    await stream.put("a")
    await stream.api("STREAM.DELETE")
    questions = {"STREAM.DELETE": b"", "STREAM.PURGE": b"", "STREAM.INFO": b"", "STREAM.MSG.GET": {"seq": 1}}
    for verb, question in questions.items():
        with refused(10059, "stream not found"):
            await stream.api(verb, question)
    await stream.create()
    assert await stream.put("a", after=0) == 1


async def test_messages_leave_a_stream_with_a_maximum_age(other):
    await other.create(max_age=10**9, discard="old")
    await other.put("a")

    async def state():
        found = await other.bounds()
        return found if not found[2] else None

    assert await eventually(state) == (2, 1, 0)


async def test_the_account_says_what_its_streams_hold(stream):
    await stream.put("a", "x" * 1000)
    info = await stream.client.jetstream().account_info()
    assert info.storage >= 1000 and info.streams >= 1
    assert info.api.level >= 1
    assert isinstance(info.limits, api.AccountLimits) and info.limits.max_storage == -1
