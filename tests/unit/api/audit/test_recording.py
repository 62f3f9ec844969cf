"""How accesses get into the log: with the address sealed, once, or not at all."""

from __future__ import annotations

import msgspec
import pytest

from drover.api.audit.network_addresses import PURPOSE, NetworkAddresses
from drover.api.audit.recording import Recording
from drover.api.identity.personal_data import PersonalData
from drover.bus.audit import Access
from drover.bus.messages import LOG_FULL, Accepted
from drover.domain.erasure import parse_sealed
from drover.domain.errors import Code
from drover.domain.identity.subjects import person_token
from drover.domain.identity.validation import validate
from drover.service.sealing import Ring, SealDamaged, Sealer
from tests.subject_keys import RING, Leaders, local_keys

pytestmark = pytest.mark.req("SE-11")

FIREFOX = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0"
ACCESS = Access(
    id="66666666-0000-7000-8000-000000000001",
    by="user:kim",
    kind="film",
    what="/api/renders/7/preview",
    address="203.0.113.9",
    user_agent=FIREFOX,
    trace="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
)


DONE = Accepted(1)


class OneBus:
    def __init__(self, outcome=DONE) -> None:
        self.sent = []
        self._outcome = outcome

    async def send(self, context, command, **envelope):
        self.sent.append((context, command, envelope))
        return self._outcome


async def recorded(addresses=None):
    bus = OneBus()
    addresses = NetworkAddresses.of(local_keys("identity")) if addresses is None else addresses
    assert await Recording(bus, addresses).record(ACCESS) is None
    ((context, command, envelope),) = bus.sent
    assert context == "identity"
    return command, envelope


async def opened(keys, text, by):
    return (await NetworkAddresses.of(keys).opener([text]))(text, by)


async def test_a_command_says_who_did_what_in_which_request():
    command, envelope = await recorded()
    assert (command.kind, command.what, command.user_agent) == ("film", ACCESS.what, "Firefox on Windows")
    assert envelope == {"by": "user:kim", "id": ACCESS.id, "trace": ACCESS.trace}
    assert validate(command) is None


async def test_the_address_is_sealed_for_its_actor_and_opens_for_nobody_else():
    keys = local_keys("identity")
    command, _ = await recorded(NetworkAddresses.of(keys))
    assert ACCESS.address not in msgspec.json.encode(command).decode()
    assert await opened(keys, command.address_sealed, "user:kim") == ACCESS.address
    assert await opened(keys, command.address_sealed, "user:lee") is None
    opener = await PersonalData(keys).opener([command.address_sealed])
    with pytest.raises(SealDamaged):
        opener.open(command.address_sealed, subject="user:kim", purpose="identity.email", before="")
    assert PURPOSE != "identity.email"


@pytest.mark.req("SE-09")
async def test_the_address_is_sealed_with_the_key_of_the_person_which_is_stored_before():
    leaders = Leaders()
    command, _ = await recorded(NetworkAddresses.of(local_keys("identity", leaders=leaders)))
    assert parse_sealed(command.address_sealed).ref.token == person_token("kim")
    assert [*leaders.store.kept] == [("main", person_token("kim"))]


@pytest.mark.req("SE-09")
async def test_the_address_of_an_erased_person_is_not_shown_and_those_of_others_are():
    leaders = Leaders()
    keys = local_keys("identity", leaders=leaders)
    addresses = NetworkAddresses.of(keys)
    kim, lee = [await addresses.sealed("203.0.113.9", by) for by in ("user:kim", "user:lee")]
    leaders.erased[person_token("kim")] = 1
    await keys.destroy("user:kim")
    open_ = await addresses.opener([kim, lee])
    assert (open_(kim, "user:kim"), open_(lee, "user:lee")) == (None, "203.0.113.9")


@pytest.mark.req("SE-09")
async def test_an_address_that_an_earlier_version_sealed_is_shown():
    before = Sealer(RING).seal(b"203.0.113.9", context=PURPOSE, subject="user:kim")
    assert await opened(local_keys("identity"), before, "user:kim") == "203.0.113.9"
    assert await opened(local_keys("identity"), before, "user:lee") is None


async def test_without_keys_the_access_is_recorded_and_its_address_is_not():
    command, _ = await recorded(NetworkAddresses(None))
    assert command.address_sealed is None
    assert await opened(None, "sealed:2:…", "user:kim") is None


async def test_an_address_whose_key_is_gone_is_not_shown():
    leaders = Leaders()
    command, _ = await recorded(NetworkAddresses.of(local_keys("identity", leaders=leaders)))
    other_ring = local_keys("identity", ring=Ring({"k2": b"2" * 32}), leaders=leaders)
    assert await opened(other_ring, command.address_sealed, "user:kim") is None


async def test_an_actor_whose_key_cannot_be_opened_is_recorded_without_the_address():
    leaders = Leaders()
    await recorded(NetworkAddresses.of(local_keys("identity", leaders=leaders)))
    other_ring = local_keys("identity", ring=Ring({"k2": b"2" * 32}), leaders=leaders)
    command, _ = await recorded(NetworkAddresses.of(other_ring))
    assert (command.what, command.address_sealed) == (ACCESS.what, None)


async def test_without_a_leader_that_serves_keys_nothing_is_recorded_and_the_sender_tries_again():
    leaders = Leaders()
    leaders.away = True
    bus = OneBus()
    addresses = NetworkAddresses.of(local_keys("identity", leaders=leaders))
    assert (await Recording(bus, addresses).record(ACCESS), bus.sent) == (Code.UNAVAILABLE, [])


async def test_a_refusal_is_told_to_the_sender():
    addresses = NetworkAddresses.of(local_keys("identity"))
    assert await Recording(OneBus(LOG_FULL), addresses).record(ACCESS) == Code.LOG_FULL
