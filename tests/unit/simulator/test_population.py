"""The farm follows from its seed; its members are such as the platform takes."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice, pairwise
from random import Random

from drover.agent.protocol import Answer, Heartbeat
from drover.domain.fleet.policy import (
    CAPABILITY_PATTERN,
    DEVICES_PER_PC_MAX,
    GROUP_PATTERN,
    PC_ID_PATTERN,
    SERIAL_PATTERN,
)
from drover.simulator.phone import Phone
from drover.simulator.population import PCS_MAX, PHONES_PER_PC_MAX, SEED_MAX, Wiring, populate, troubles_of_line
from drover.simulator.script import CALM, DEMO, Fault, Script, episodes

DAY_S = 24 * 3600


def beats(phone: Phone, until: float) -> list[float]:
    sent, now = [], 0.0
    while phone.due_at < until:
        now = max(now, phone.due_at)
        while (errand := phone.next_errand(now)) is not None:
            if isinstance(errand.action, Heartbeat):
                sent.append(now)
            phone.answered(errand, Answer(204), now)
    return sent


def test_the_same_seed_gives_the_same_farm_and_another_one_another():
    def lives(seed: int) -> dict[str, list[float]]:
        return {phone.identity.serial_number: beats(phone, 3 * 3600) for phone in populate(2, 3, seed, DEMO)}

    assert lives(1) == lives(1)
    assert lives(1).keys().isdisjoint(lives(2))
    assert list(lives(1).values()) != list(lives(2).values())


def test_troubles_do_not_depend_on_what_the_platform_answers():
    calm, hindered = (populate(1, 1, 7, DEMO)[0] for _ in range(2))
    seen: tuple[list, list] = ([], [])
    for second in range(0, DAY_S, 5):
        for phone, faults, status in ((calm, seen[0], 204), (hindered, seen[1], 503)):
            faults.append(phone.fault_at(second))
            while (errand := phone.next_errand(second)) is not None:
                phone.answered(errand, Answer(status), second)
    assert seen[0] == seen[1]
    assert len(set(seen[0])) > 2


def test_every_identity_is_one_that_the_platform_takes():
    phones = populate(30, 20, SEED_MAX, CALM) + populate(1, PHONES_PER_PC_MAX, 0, CALM)
    assert PHONES_PER_PC_MAX <= DEVICES_PER_PC_MAX
    serials = Counter(phone.identity.serial_number for phone in phones)
    assert max(serials.values()) == 1
    for serial, group, pc, capabilities in (phone.identity for phone in phones):
        assert re.fullmatch(SERIAL_PATTERN, serial) and re.fullmatch(GROUP_PATTERN, group)
        assert re.fullmatch(PC_ID_PATTERN, pc) and all(re.fullmatch(CAPABILITY_PATTERN, one) for one in capabilities)
    assert phones[0].identity.pc_id == "PC-01"
    assert len({phone.identity.pc_id for phone in populate(PCS_MAX, 1, 1, CALM)}) == PCS_MAX


def test_a_pc_without_power_takes_all_its_phones_with_it_and_they_do_not_boot_in_step():
    outage = Fault("no power", every_s=3600, lasts_s=(60, 60), stops_agent=True)
    phones = populate(1, 20, 1, Script(pc_faults=(outage,)))
    dark_from = next(s for s in range(DAY_S) if phones[0].fault_at(s))
    dark = [phone for phone in phones if phone.fault_at(dark_from + 30)]
    assert len(dark) == 20
    returns = {phone.due_at for phone in dark if beats(phone, dark_from + 59) is not None}
    assert len(returns) == 20
    assert all(dark_from + 59 < due_at < dark_from + 60 + 30 for due_at in returns)


def test_a_socket_shares_the_lot_of_the_machine_that_it_is_on():
    def lot(phone: Phone) -> list[str]:
        return [episode.fault.name for episode in islice(troubles_of_line(phone, 1, DEMO), 30)]

    on_pc, alone = (populate(1, 2, 1, DEMO, wiring=Wiring("socket", kind)) for kind in ("pc", "device"))
    assert set(lot(on_pc[0])) == {"no power"}
    assert lot(on_pc[0]) == lot(on_pc[1])
    assert set(lot(alone[0])) == {"no power", "no network", "crashed"}
    first = next(troubles_of_line(alone[0], 1, DEMO))
    assert alone[0].fault_at(first.start) is first.fault


def test_a_mixed_farm_has_sockets_on_every_other_pc():
    def speech(wiring: Wiring) -> list[str]:
        return [phone.speech for phone in populate(3, 1, 1, CALM, wiring=wiring)]

    assert speech(Wiring("mixed")) == ["pc socket", "http", "pc socket"]
    assert speech(Wiring("mixed", "device")) == ["own socket", "http", "own socket"]
    assert speech(Wiring("socket")) == ["pc socket"] * 3
    assert speech(Wiring("http")) == ["http"] * 3


def test_faults_come_as_often_and_last_as_long_as_the_script_says():
    often = Fault("often", every_s=100, lasts_s=(5, 15), stops_agent=False)
    seldom = Fault("seldom", every_s=400, lasts_s=(50, 60), stops_agent=True)
    happened = list(islice(episodes((often, seldom), Random(1)), 5000))
    counts = Counter(episode.fault.name for episode in happened)
    assert 3.5 < counts["often"] / counts["seldom"] < 4.5
    assert all(fault.lasts_s[0] <= end - start <= fault.lasts_s[1] + 1e-6 for start, end, fault in happened)
    assert all(one.end < other.start for one, other in pairwise(happened))
    calm_s = happened[-1].start - sum(end - start for start, end, _ in happened[:-1])
    assert 75 < calm_s / len(happened) < 85  # a fifth sooner than `often` alone: 1 / (1/100 + 1/400) = 80
