"""What can be refused without looking at the queue: texts too long, empty or with control characters, odd numbers."""

import pytest

from drover.domain.decider import Tick
from drover.domain.errors import Code
from drover.domain.render import commands as c
from drover.domain.render.events import FieldsUnmapped, RenderCompleted, RenderFailed, RenderRequested
from drover.domain.render.validation import (
    ID_CHARS_MAX,
    NAME_CHARS_MAX,
    PATH_CHARS_MAX,
    SEALED_CHARS_MAX,
    validate,
)
from tests.unit.domain.render.world import CHIPS, HAND, SEALED, W1, WORKING_STATES, Hand, queue, request, told


def mapped(**fields):
    return c.MapField(**({"composition_id": CHIPS, "field_name": "Single - x", "layer_name": "X"} | fields))


def described(**fields):
    return c.DescribeComposition(**({"composition_id": CHIPS} | fields))


TEXTS = [
    (lambda text: request(text), "composition_id", ID_CHARS_MAX, False),
    (lambda text: request(gfx_id=text), "gfx_id", ID_CHARS_MAX, False),
    (lambda text: request(composition=text), "composition", NAME_CHARS_MAX, True),
    (lambda text: request(cue_item_id=text), "cue_item_id", ID_CHARS_MAX, True),
    (lambda text: c.CancelRender(1, text), "reason", c.MESSAGE_CHARS_MAX, True),
    (lambda text: c.Claim(text), "worker_id", ID_CHARS_MAX, False),
    (lambda text: c.ClaimStop(text), "worker_id", ID_CHARS_MAX, False),
    (lambda text: Hand(1, 1, text).renews(), "worker_id", ID_CHARS_MAX, False),
    (lambda text: HAND.submits(text), "nexrender_job_id", ID_CHARS_MAX, False),
    (lambda text: c.ReportStopped(1, text, W1), "uid", ID_CHARS_MAX, False),
    (lambda text: HAND.completes(output_file_path=text), "output_file_path", PATH_CHARS_MAX, False),
    (lambda text: HAND.completes(sha256=text), "sha256", 64, False),
    (lambda text: HAND.completes(codec=text), "codec", NAME_CHARS_MAX, True),
    (lambda text: described(name=text), "name", NAME_CHARS_MAX, True),
    (lambda text: described(template=text), "template", PATH_CHARS_MAX, True),
    (lambda text: described(output_module=text), "output_module", NAME_CHARS_MAX, True),
    (lambda text: c.GetComposition(text), "composition_id", ID_CHARS_MAX, False),
    (lambda text: c.RemoveComposition(text), "composition_id", ID_CHARS_MAX, False),
    (lambda text: mapped(field_name=text), "field_name", NAME_CHARS_MAX, False),
    (lambda text: mapped(layer_name=text), "layer_name", NAME_CHARS_MAX, False),
    (lambda text: mapped(property=text), "property", NAME_CHARS_MAX, False),
    (lambda text: c.ChangeField(1, layer_name=text), "layer_name", NAME_CHARS_MAX, False),
]
IDS = [f"{number}-{field}" for number, (_, field, _, _) in enumerate(TEXTS)]


def assert_refused(command, field):
    refusal = validate(command)
    assert refusal is not None
    assert (refusal.code, refusal.details["field"]) == (Code.VALIDATION_ERROR, field)
    queue().when(command).then_rejected(Code.VALIDATION_ERROR, field=field)


@pytest.mark.parametrize(("command", "field", "chars_max", "may_be_empty"), TEXTS, ids=IDS)
def test_a_text_has_a_longest_length(command, field, chars_max, may_be_empty):
    assert validate(command("가" * chars_max)) is None
    assert_refused(command("x" * (chars_max + 1)), field)


@pytest.mark.parametrize(("command", "field", "chars_max", "may_be_empty"), TEXTS, ids=IDS)
def test_a_text_that_says_nothing_is_refused_where_it_must_say_something(command, field, chars_max, may_be_empty):
    for empty in ("", " ", "\t\n"):
        if may_be_empty:
            assert validate(command(empty)) is None
        else:
            assert_refused(command(empty), field)


@pytest.mark.parametrize(("command", "field", "chars_max", "may_be_empty"), TEXTS, ids=IDS)
@pytest.mark.parametrize("character", ["\x00", "\x1b", "\x1f"])
def test_control_characters_are_refused(command, field, chars_max, may_be_empty, character):
    assert_refused(command(f"a{character}b"), field)


@pytest.mark.parametrize(("command", "field", "chars_max", "may_be_empty"), TEXTS, ids=IDS)
def test_lines_and_tabs_are_not(command, field, chars_max, may_be_empty):
    assert validate(command("a\r\n\tb")) is None


@pytest.mark.parametrize(
    ("command", "field"),
    [
        (lambda number: c.CancelRender(number), "render_id"),
        (lambda number: c.GetRender(number), "render_id"),
        (lambda number: c.RenewLease(number, 1, W1), "render_id"),
        (lambda number: c.RenewLease(1, number, W1), "run"),
        (lambda number: c.UnmapField(number), "mapping_id"),
        (lambda number: HAND.completes(size_bytes=number), "size_bytes"),
        (lambda number: HAND.completes(width=number), "width"),
        (lambda number: HAND.completes(height=number), "height"),
    ],
)
def test_numbers_are_from_nought_on_and_of_a_size_that_everybody_can_keep(command, field):
    for number in (-1, 2**53, 10**30):
        assert_refused(command(number), field)
    for number in (0, 1, 2**53 - 1):
        assert validate(command(number)) is None


@pytest.mark.req("RN-02")
def test_gfx_data_that_does_not_fit_is_too_large():
    queue().when(request(gfx_data="x" * SEALED_CHARS_MAX)).then(RenderRequested)
    queue().when(request(gfx_data="x" * (SEALED_CHARS_MAX + 1))).then_rejected(Code.TOO_LARGE, field="gfx_data")


@pytest.mark.req("RN-17")
@pytest.mark.parametrize("text", ["", '{"slots":[{"name":"김연아"}]}', '{\n  "slots": []\n}', "\x00"])
def test_gfx_data_that_cannot_be_a_seal_is_refused(text):
    queue().when(request(gfx_data=text)).then_rejected(Code.VALIDATION_ERROR, field="gfx_data")
    assert validate(request(gfx_data=SEALED)) is None


def test_a_question_has_at_most_200_ids():
    assert validate(c.GetRuns(list(range(200)))) is None
    assert_refused(c.GetRuns(list(range(201))), "render_ids")


def test_the_clock_is_always_well_formed():
    assert validate(Tick()) is None


@pytest.mark.req("RN-06")
def test_as_many_unmapped_fields_as_there_may_be_are_told_as_far_as_they_fit():
    scenario = queue(*WORKING_STATES["preparing"]).when(HAND.misses(*[f"Single - {number}" for number in range(500)]))
    (unmapped,) = told(scenario, FieldsUnmapped)
    assert len(unmapped.fields) == 200
    assert unmapped.fields[198:] == ["Single - 198", "… and 301 more"]
    scenario.when(HAND.misses(*[f"Single - {number}" for number in range(200)]))
    assert told(scenario, FieldsUnmapped)[0].fields[-1] == "Single - 199"


@pytest.mark.req("RN-06")
@pytest.mark.parametrize("character", ["가", "\x00", '"', "\\", "\n", "😀"])
def test_whatever_they_are_called_they_fit_into_a_decision(character):
    """The scenario weighs it."""
    scenario = queue(*WORKING_STATES["preparing"]).when(HAND.misses(*[character * 10_000] * 300)).then(FieldsUnmapped)
    (unmapped,) = told(scenario, FieldsUnmapped)
    assert not any("\x00" in field for field in unmapped.fields)


def test_the_longest_of_everything_fits_into_a_decision():
    wide = "😀"
    scenario = queue().when(
        request(
            wide * ID_CHARS_MAX,
            composition=wide * NAME_CHARS_MAX,
            cue_item_id=wide * ID_CHARS_MAX,
            gfx_id=wide * ID_CHARS_MAX,
            gfx_data="x" * SEALED_CHARS_MAX,
        )
    )
    hand = Hand(1, 1, wide * ID_CHARS_MAX)
    scenario.when(c.Claim(hand.worker)).when(hand.fails("GFX_DATA_UNREADABLE", wide * 5_000))
    assert told(scenario, RenderFailed)
    scenario = queue(*WORKING_STATES["preparing"])
    scenario.when(HAND.completes(output_file_path=wide * PATH_CHARS_MAX, codec=wide * NAME_CHARS_MAX))
    scenario.then(RenderCompleted)
