"""What a writer counts and which spans it leaves: enough for somebody to be woken, and to find what happened."""

import asyncio

import pytest
from prometheus_client import REGISTRY

from drover.domain.errors import Code
from drover.eventlog.log import Commit
from drover.service import tracing
from drover.service.tracing import COMMIT, new_trace
from drover.testing.waiting import eventually
from drover.writer.intake import Intake

from .conftest import Add, Ask, RaiseInDecide, SetAlarm

pytestmark = pytest.mark.req("EV-07")


def counted(name, **labels):
    return REGISTRY.get_sample_value(name, {"context": "tally", **labels})


async def test_what_is_seldom_counted_begins_at_nought(bench):
    async with bench.leading():
        assert counted("drover_writer_terms_total", ended="fenced") is not None
        assert counted("drover_writer_refusals_total", code=Code.OVERLOADED) is not None
        assert counted("drover_writer_parked_deadlines_total") is not None


async def test_leading_is_told_and_its_end_too_with_the_position(bench):
    async with bench.leading():
        assert counted("drover_writer_leader", partition="main") == 1
        assert counted("drover_writer_position", partition="main") == 1
        ended = counted("drover_writer_terms_total", ended="stopped") or 0
    assert counted("drover_writer_leader", partition="main") == 0
    assert counted("drover_writer_terms_total", ended="stopped") == ended + 1


async def test_a_term_that_the_log_ended_is_counted_as_fenced(bench):
    async with bench.leading() as writer:
        before = counted("drover_writer_terms_total", ended="fenced")
        last = await bench.log.last()
        await bench.log.append(Commit("another's", 9, last.payload.replace(b'"n":1', b'"n":2')), last.seq)
        writer.submit(Add(1), by="t")
        await eventually(lambda: counted("drover_writer_terms_total", ended="fenced") == before + 1)


async def test_refusals_are_counted_by_code_whether_there_was_no_room_or_a_fault(bench):
    async with bench.leading(intake=Intake(1)) as writer:
        full, broken = (counted("drover_writer_refusals_total", code=code) for code in (Code.OVERLOADED, Code.INTERNAL))
        bench.log.flowing.clear()
        waiting = [writer.submit(Add(number), by="t") for number in range(3)]
        bench.log.flowing.set()
        await asyncio.gather(*waiting)
        await writer.submit(RaiseInDecide(), by="t")
    assert counted("drover_writer_refusals_total", code=Code.OVERLOADED) == full + 2
    assert counted("drover_writer_refusals_total", code=Code.INTERNAL) == broken + 1


async def test_a_recorded_command_leaves_the_spans_of_its_decision_and_its_commit(bench, monkeypatch):
    spans = []
    monkeypatch.setattr(tracing, "recorder", spans.append)
    place = new_trace()
    async with bench.leading() as writer:
        outcome = await writer.submit(Add(1), by="t", trace=str(place))
        await writer.submit(Ask(), by="t", trace=str(new_trace()))
        await writer.submit(Add(2), by="t")
        await writer.submit(SetAlarm(9), by="t", trace=str(new_trace())[:-2] + "00")
    ours = {span.name: span for span in spans if span.trace.trace_id == place.trace_id}
    assert ours.keys() == {"decide Add", "commit tally"}
    assert {span.parent for span in ours.values()} == {place.span_id}
    assert ours["commit tally"].trace == place.named_child(COMMIT)
    assert ours["commit tally"].attributes["drover.position"] == outcome.position
    assert ours["decide Add"].end_ns <= ours["commit tally"].end_ns
    assert [span.name for span in spans if span.trace.trace_id != place.trace_id] == ["decide Ask"]
