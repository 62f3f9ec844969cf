"""Which read models a process may read, as PostgreSQL tells it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from drover.eventlog.log import Partition
from drover.projection import readable
from drover.projection.readable import ReadableForms, ReadModelRebuilding
from drover.readmodel.form import schema_of

PARTITIONS = {
    "fleet": [Partition("fleet")],
    "reminder": [Partition("reminder", "p0"), Partition("reminder", "p1")],
}
FLEET, REMINDER = schema_of("fleet"), schema_of("reminder")

pytestmark = pytest.mark.req("YR-08")


class Postgres:
    def __init__(self, *stands: tuple[str, str, int, bool]) -> None:
        self.stands = [*stands]
        self.used: list[str] = []
        self.looks = 0
        self.is_away = False
        self.created_at = datetime(2026, 3, 1, tzinfo=UTC)
        self.is_in_use = True

    async def fetch(self, query: str, *args: Any, timeout: float | None = None) -> list[Any]:  # noqa: ASYNC109
        self.looks += 1
        if self.is_away:
            raise ConnectionRefusedError
        names = ("schema", "partition", "seq", "is_caught_up")
        more = {"created_at": self.created_at, "is_in_use": self.is_in_use}
        return [dict(zip(names, row, strict=True)) | more for row in self.stands]

    async def execute(self, query: str, *args: Any, timeout: float | None = None) -> str:  # noqa: ASYNC109
        (self.used,) = args
        return "UPDATE"


async def end_of_log(context: str) -> int:
    return 100


async def test_a_context_can_be_read_once_all_its_partitions_have_caught_up():
    postgres = Postgres((FLEET, "main", 7, True), (REMINDER, "p0", 9, True), (REMINDER, "p1", 4, False))
    forms = ReadableForms(postgres, PARTITIONS, end_of_log)
    await forms.demand(["fleet"])
    with pytest.raises(ReadModelRebuilding) as caught:
        await forms.demand(["fleet", "reminder"])
    assert caught.value.rebuilding == readable.Rebuilding("reminder", 4, 100)
    assert postgres.used == [FLEET], "a form that is not served yet is not kept from being doubted"
    assert forms.why_not_ready() == "Read models are being built: reminder."


async def test_a_partition_without_a_checkpoint_has_not_begun():
    forms = ReadableForms(Postgres((REMINDER, "p0", 9, True)), PARTITIONS, end_of_log)
    await forms.look()
    assert forms.waiting() == ["fleet", "reminder"]


async def test_reads_share_a_look_and_see_soon_that_a_form_has_caught_up(monkeypatch):
    postgres = Postgres((FLEET, "main", 7, False))
    forms = ReadableForms(postgres, {"fleet": PARTITIONS["fleet"]}, end_of_log)
    for _ in range(3):
        with pytest.raises(ReadModelRebuilding):
            await forms.demand(["fleet"])
    assert postgres.looks == 1
    postgres.stands = [(FLEET, "main", 100, True)]
    monkeypatch.setattr(readable, "LOOK_AT_MOST_S", 0.0)
    await forms.demand(["fleet"])
    assert forms.why_not_ready() is None
    looks = postgres.looks
    await forms.demand(["fleet"])
    assert postgres.looks == looks, "what can be read costs nothing"


async def test_after_an_outage_a_process_goes_on_with_tables_that_it_has_read_but_not_with_new_ones():
    postgres = Postgres((FLEET, "main", 7, True))
    forms = ReadableForms(postgres, {"fleet": PARTITIONS["fleet"]}, end_of_log)
    await forms.look()
    postgres.is_in_use = False  # nobody could say so for minutes
    await forms.look()
    assert forms.waiting() == []
    postgres.created_at += timedelta(hours=1)  # as after a restore
    await forms.look()
    assert forms.waiting() == ["fleet"]


async def test_a_process_that_serves_agents_waits_some_seconds_for_its_read_models_and_no_longer(monkeypatch):
    forms = ReadableForms(Postgres((FLEET, "main", 7, False)), {"fleet": PARTITIONS["fleet"]}, end_of_log)
    await forms.look()
    assert forms.why_not_started() == forms.why_not_ready() is not None
    monkeypatch.setattr(readable, "START_S", 0.0)
    forms = ReadableForms(Postgres((FLEET, "main", 7, False)), {"fleet": PARTITIONS["fleet"]}, end_of_log)
    await forms.look()
    assert forms.why_not_started() is None


async def test_without_postgres_a_process_is_ready_and_leaves_the_answer_to_the_read():
    postgres = Postgres()
    postgres.is_away = True
    forms = ReadableForms(postgres, PARTITIONS, end_of_log)
    assert forms.why_not_ready() is not None, "nothing is known yet"
    await forms.demand(["fleet"])
    assert forms.why_not_ready() is None
