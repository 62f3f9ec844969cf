"""What `make contracts` writes, and what it refuses to."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from drover.domain.decider import Command
from drover.domain.event import Event, TermStarted
from tests.unit.tools.messages.toy import (
    BOOK_ADDED,
    AddBook,
    BookAdded,
    BookLent,
    LendBook,
    Place,
    keep_sample,
    library,
)
from tools.messages.publishing import publication, publish, stale

pytestmark = pytest.mark.req("EV-09")


class BookAddedV2(Event):
    """Its pages were never right."""

    book_id: str
    title: str
    place: Place


def to_v2(fields):
    kept = {name: value for name, value in fields.items() if name not in ("pages", "tags")}
    return kept | {"type": "BookAddedV2", "title": fields["title"] or ""}


EVENTS_V2 = TermStarted | BookAddedV2 | BookLent


def changed(name: str, /, *, tag: str | None = None, base: type = Event, **fields):
    return msgspec.defstruct(
        name, [(field, *spec) for field, spec in fields.items()], bases=(base,), kw_only=True, tag=tag or name
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where version one of the library has been published."""
    keep_sample(tmp_path)
    assert publish(tmp_path, [library()]) == ()
    return tmp_path


def schema(folder: Path, name: str, sort: str = "events") -> dict:
    return json.loads((folder / "schemas" / "library" / sort / f"{name}.json").read_text())


def test_an_event_is_published_with_its_envelope_its_times_and_its_texts(folder):
    made = schema(folder, "BookLent")
    assert made["properties"]["due"]["format"] == "date-time"
    assert {"n", "at", "by", "cause"} <= set(made["required"])
    assert "default" not in made["properties"]["at"]
    assert made["properties"]["n"]["description"].startswith("Number in its partition")
    assert schema(folder, "BookAdded")["description"] == "A book came."


def test_publishing_twice_changes_nothing(folder):
    before = {file: file.stat().st_mtime_ns for file in folder.rglob("*.*") if file.is_file()}
    assert publish(folder, [library()]) == ()
    assert {file: file.stat().st_mtime_ns for file in folder.rglob("*.*") if file.is_file()} == before


def test_a_field_with_a_default_and_a_new_event_are_published(folder):
    added = changed(
        "BookAdded",
        book_id=(str,),
        title=(str | None,),
        pages=(int,),
        place=(Place,),
        tags=(list[str], []),
        blurb=(str, ""),
    )
    burnt = changed("BookBurnt", book_id=(str,))
    now = [library(TermStarted | added | BookLent | burnt)]
    assert stale(folder, publication(folder, now)) == [
        "schemas/library/events/BookAdded.json",
        "schemas/library/events/BookBurnt.json",
    ]
    assert publish(folder, now) == ()
    assert "blurb" in schema(folder, "BookAdded")["properties"]
    assert stale(folder, publication(folder, now)) == []


def test_an_incompatible_event_is_refused_with_a_sentence_about_upcasters_and_nothing_is_written(folder):
    renamed = changed("BookLent", book_id=(str,), due_on=(str,))
    before = schema(folder, "BookLent")
    (problem,) = publish(folder, [library(TermStarted | BookAdded | renamed)])
    assert problem.startswith("library: the event BookLent can no longer be read as it is in the log")
    assert "`due` was removed; `due_on` is new and required" in problem
    assert "BookLentV2" in problem and 'upcasters={"BookLent": ...}' in problem and "contracts/README.md" in problem
    assert schema(folder, "BookLent") == before


def test_an_event_that_is_gone_or_has_another_tag_is_refused(folder):
    (problem,) = publish(folder, [library(TermStarted | BookAdded)])
    assert "BookLent was published and is gone" in problem and "upcaster" in problem
    lent = changed("BookLent", tag="BookGiven", book_id=(str,), due=(str,))
    (problem,) = publish(folder, [library(TermStarted | BookAdded | lent)])
    assert "BookLent was published and is gone, or has another tag now" in problem


def test_a_new_version_without_an_upcaster_is_refused(folder):
    (problem,) = publish(folder, [library(EVENTS_V2)])
    assert "BookAdded was published and is gone" in problem and 'upcasters={"BookAdded": ...}' in problem


def test_a_new_version_with_an_upcaster_is_published_and_the_old_one_stays_for_ever(folder):
    now = [library(EVENTS_V2, upcasters={"BookAdded": to_v2})]
    assert publish(folder, now) == ()
    old = schema(folder, "BookAdded")
    assert old["deprecated"] is True and old["x-upcast-to"] == "BookAddedV2"
    assert "pages" in old["properties"]
    assert "BookAddedV2" in schema(folder, "BookAddedV2")["title"]
    assert publish(folder, now) == () and stale(folder, publication(folder, now)) == []


def test_an_upcaster_may_not_be_taken_away_again(folder):
    publish(folder, [library(EVENTS_V2, upcasters={"BookAdded": to_v2})])
    (problem,) = publish(folder, [library(EVENTS_V2)])
    assert "BookAdded was published and is gone" in problem


def test_an_upcaster_that_leads_nowhere_is_refused(folder):
    (problem,) = publish(folder, [library(EVENTS_V2, upcasters={"BookAdded": lambda fields: fields["nothing"]})])
    assert "upcaster of BookAdded does not return a current event" in problem
    forgot = {"BookAdded": lambda fields: {**to_v2(fields), "type": "BookAddedV3"}}
    (problem,) = publish(folder, [library(EVENTS_V2, upcasters=forgot)])
    assert "BookAddedV3" in problem


def test_an_upcaster_needs_a_golden_sample_to_show_that_it_works(folder):
    (folder / "samples" / "library" / "BookAdded.1.json").unlink()
    (problem,) = publish(folder, [library(EVENTS_V2, upcasters={"BookAdded": to_v2})])
    assert "no golden sample" in problem


def test_an_upcaster_for_an_event_of_today_is_refused(folder):
    (problem,) = publish(folder, [library(upcasters={"BookAdded": to_v2})])
    assert "still a current event" in problem


def test_a_chain_of_upcasters_leads_through_all_versions(folder):
    publish(folder, [library(EVENTS_V2, upcasters={"BookAdded": to_v2})])
    keep_sample(folder, to_v2(dict(BOOK_ADDED)))
    third = changed("BookAddedV3", book_id=(str,), name=(str,))

    def to_v3(fields):
        kept = {name: value for name, value in fields.items() if name not in ("title", "place")}
        return kept | {"type": "BookAddedV3", "name": fields["title"]}

    both = {"BookAdded": to_v2, "BookAddedV2": to_v3}
    assert publish(folder, [library(TermStarted | third | BookLent, upcasters=both)]) == ()
    assert schema(folder, "BookAdded")["x-upcast-to"] == "BookAddedV2"
    assert schema(folder, "BookAddedV2")["x-upcast-to"] == "BookAddedV3"
    problems = publish(folder, [library(TermStarted | third | BookLent, upcasters={"BookAdded": to_v2})])
    assert [one for one in problems if "the event BookAddedV2 was published and is gone" in one]
    assert [one for one in problems if "upcaster of BookAdded does not return a current event" in one]


def test_a_command_that_asks_for_more_is_refused_and_one_with_another_default_is_not(folder):
    more = changed("AddBook", base=Command, book_id=(str,), pages=(int, 1), shelf=(str,))
    (problem,) = publish(folder, [library(commands=more | LendBook)])
    assert problem.startswith("library: the command AddBook refuses what callers send today")
    assert "`shelf` is new and required" in problem and "upcaster" not in problem
    other = changed("AddBook", base=Command, book_id=(str,), pages=(int, 2))
    assert publish(folder, [library(commands=other | LendBook)]) == ()


def test_a_command_that_is_gone_is_refused_until_its_file_is_removed_by_hand(folder):
    (problem,) = publish(folder, [library(commands=AddBook)])
    assert "LendBook was published and is gone" in problem
    (folder / "schemas" / "library" / "commands" / "LendBook.json").unlink()
    assert publish(folder, [library(commands=AddBook)]) == ()


def test_a_file_that_nobody_publishes_is_stale(folder):
    (folder / "schemas" / "library" / "events" / "notes.md").write_text("not ours")
    lent = folder / "schemas" / "library" / "commands" / "LendBook.json"
    lent.write_text(lent.read_text() + "\n")
    assert stale(folder, publication(folder, [library()])) == ["schemas/library/commands/LendBook.json"]


def test_the_program_says_why_and_exits_with_one(tmp_path):
    broken = tmp_path / "schemas" / "fleet" / "events" / "JobEnchanted.json"
    broken.parent.mkdir(parents=True)
    broken.write_text('{"type": "object", "properties": {}}')
    ran = subprocess.run(
        [sys.executable, "-m", "tools.messages", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 1
    assert "fleet: the event JobEnchanted was published and is gone" in ran.stderr
    assert ran.stderr.endswith("Nothing was written.\n")
    assert not (tmp_path / "asyncapi.yaml").exists()
