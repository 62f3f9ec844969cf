"""The published contracts of events and commands: fresh, compatible with what was published, true of the samples."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest
import yaml

from drover.bus.rows import NatsRows, RowsChanged, RowsHeartbeat
from drover.domain.contexts import CONTEXTS
from drover.domain.deciders import DECIDERS
from drover.eventlog.codec import Codec
from drover.readmodel.form import schema_of
from drover.readmodel.models import LIVE, LIVE_CONTEXTS
from tools.messages.published import FOLDER, Name, read_schemas
from tools.messages.publishing import Publication, publication, stale
from tools.messages.schemas import types_of
from tools.nats_users import USERS, publishes

CONTRACTS = Path(__file__).parents[2] / FOLDER
SAMPLES = sorted((CONTRACTS / "samples").glob("*/*.json"))
BY_CONTEXT = DECIDERS
INTERNAL = ("$", "outside.API.", "snap.", "probe.", "peers.", "render.cache.clear", "key.", "keys.", "rewrap.")
"""Subjects that are no part of the contract: those of JetStream, of caches, and between processes of one service."""
pytestmark = pytest.mark.req("EV-09")


@cache
def today() -> Publication:
    return publication(CONTRACTS)


@cache
def asyncapi() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((CONTRACTS / "asyncapi.yaml").read_text(encoding="utf-8"))
    return document


def validator(context: str, type_: str) -> jsonschema_rs.Draft7Validator:
    file = CONTRACTS / Name(context, "events", type_).file
    return jsonschema_rs.Draft7Validator(json.loads(file.read_bytes()), validate_formats=True)


def test_nothing_that_was_published_has_changed_incompatibly():
    assert today().problems == (), "\n\n".join(today().problems)


def test_the_published_files_are_fresh():
    assert stale(CONTRACTS, today()) == [], "run `make contracts`"


def test_every_context_is_published():
    assert set(BY_CONTEXT) == set(CONTEXTS)


@pytest.mark.parametrize("file", SAMPLES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_a_golden_sample_is_what_its_schema_says_and_so_is_what_the_code_makes_of_it(file):
    context, fields = file.parent.name, json.loads(file.read_bytes())
    validator(context, fields["type"]).validate(fields)
    (event,) = Codec.of(BY_CONTEXT[context]).decode(msgspec.json.encode(fields) + b"\n")
    written = json.loads(Codec.of(BY_CONTEXT[context]).encode([event]))
    validator(context, written["type"]).validate(written)


def test_a_sample_with_a_fault_would_be_found():
    file = CONTRACTS / "samples" / "fleet" / "JobCreated.1.json"
    fields = json.loads(file.read_bytes())
    for fault in ({"at": "yesterday"}, {"prob_like": "50"}, {"target": {"unknown": 1}}, {"type": "JobMade"}):
        assert not validator("fleet", "JobCreated").is_valid(fields | fault), fault
    del fields["n"]
    assert not validator("fleet", "JobCreated").is_valid(fields)


def test_every_field_of_every_event_is_in_one_of_its_samples():
    said: dict[Name, set[str]] = {}
    for file in SAMPLES:
        fields = json.loads(file.read_bytes())
        said.setdefault(Name(file.parent.name, "events", fields["type"]), set()).update(fields)
    missing = {
        f"{name.context}/{name.type}: {', '.join(sorted(left))}"
        for name, schema in read_schemas(CONTRACTS).items()
        if name.sort == "events" and (left := schema["properties"].keys() - said.get(name, set()) - {"trace"})
    }
    assert missing == set(), "add a sample of the new shape beside the old ones: <Event>.2.json"


def test_every_sample_is_of_the_event_that_its_file_names():
    for file in SAMPLES:
        assert json.loads(file.read_bytes())["type"] == file.name.partition(".")[0]


def test_every_event_and_every_command_is_a_message_on_the_channel_of_its_context():
    channels = asyncapi()["channels"]
    for decider in DECIDERS.values():
        events, commands = channels[f"{decider.context}Events"], channels[f"{decider.context}Commands"]
        assert events["address"] == f"evt.{decider.context}.{{partition}}"
        assert commands["address"] == f"cmd.{decider.context}.{{partition}}"
        assert types_of(decider.events).keys() <= events["messages"].keys()
        assert types_of(decider.commands).keys() <= commands["messages"].keys()
        assert not events["messages"].keys() & commands["messages"].keys(), "one name, two messages"


def test_what_is_received_as_a_command_has_a_reply():
    operations = asyncapi()["operations"]
    for context in CONTEXTS:
        assert operations[f"{context}Recorded"]["action"] == "send"
        assert operations[f"{context}Asked"]["action"] == "receive"
        assert operations[f"{context}Asked"]["reply"]["channel"]["$ref"] == f"#/channels/{context}Replies"


def test_every_subject_that_a_service_may_publish_is_described():
    may_publish = {subject for user in USERS.values() for subject in publishes(user)}
    described = [channel["address"] or "" for channel in asyncapi()["channels"].values()]
    missing = {
        one for one in may_publish if not one.startswith(INTERNAL) and not any(_fits(one, to) for to in described)
    }
    assert missing == set(), "describe them in tools/messages/asyncapi.py"


async def test_what_is_published_about_rows_is_described_relation_by_relation():
    for subject, payload in await _published_rows():
        found = [channel for channel in asyncapi()["channels"].values() if _addresses(channel, subject)]
        assert len(found) == 1, f"{subject} is described {len(found)} times"
        ((name, _),) = found[0]["messages"].items()
        schema = {"$ref": f"#/components/schemas/{name}", "components": asyncapi()["components"]}
        jsonschema_rs.Draft7Validator(schema).validate(json.loads(payload))


async def _published_rows() -> list[tuple[str, bytes]]:
    """Everything that a projector says about rows, once for each subject."""
    client = _Published()
    rows = NatsRows(client, schema_of)  # type: ignore[arg-type]
    changed = RowsChanged(epoch="1f", partition="main", after=1, to=2, rows=[msgspec.Raw(b"{}")], gone=[["D1"]])
    for relation, many in LIVE.items():
        for live in many:
            await rows.changed(live.context, relation, changed)
    for context in LIVE_CONTEXTS:
        await rows.heartbeat(context, RowsHeartbeat(epoch="1f", partition="main", seq=2, last={"devices": 2}))
    return client.messages


class _Published:
    """A NATS client that keeps what is published."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, bytes]] = []

    async def publish(self, subject: str, payload: bytes) -> None:
        self.messages.append((subject, payload))


def _fits(pattern: str, address: str) -> bool:
    """Whether an address with `{parameters}` describes subjects that the NATS pattern allows."""
    parts, places = pattern.split("."), address.split(".")
    if parts[-1] == ">":
        parts, places = parts[:-1], places[: len(parts) - 1]
    return len(parts) == len(places) and all(
        part in ("*", place) or place.startswith("{") for part, place in zip(parts, places, strict=True)
    )


def _values(parameter: str, parameters: dict[str, Any]) -> str:
    return "[0-9a-f]{8}" if parameter == "form" else "|".join(map(re.escape, parameters[parameter].get("enum", ())))


def _addresses(channel: dict[str, Any], subject: str) -> bool:
    """Whether the channel has this subject; a parameter has only the values that it lists."""
    parts = re.split(r"\{(\w+)\}", channel["address"] or "")
    values = channel.get("parameters", {})
    regex = "".join(
        _values(part, values).join(("(?:", ")")) if place % 2 else re.escape(part) for place, part in enumerate(parts)
    )
    return re.fullmatch(regex, subject) is not None


def test_every_reference_leads_somewhere():
    for ref in set(_refs(asyncapi())):
        if ref.startswith("./"):
            assert (CONTRACTS / ref).is_file(), ref
            continue
        place: Any = asyncapi()
        for part in ref.removeprefix("#/").split("/"):
            place = place[part]


def test_schemas_lead_nowhere_outside_themselves():
    for name, schema in read_schemas(CONTRACTS).items():
        jsonschema_rs.meta.validate(schema)
        parts = schema.get("$defs", {})
        assert {ref.removeprefix("#/$defs/") for ref in _refs(schema)} <= parts.keys(), name


def _refs(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (item for key, item in value.items() if key == "$ref" and isinstance(item, str))
        for item in value.values():
            yield from _refs(item)
    elif isinstance(value, list):
        for item in value:
            yield from _refs(item)
