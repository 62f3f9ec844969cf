"""How often the tables of a read model have changed, and that nobody forgets to count it."""

from __future__ import annotations

from drover.domain.fleet import FLEET
from drover.projection.context_projection import context_projection
from drover.projector.fleet.projection import RULES
from drover.readmodel.fleet import FLEET as READ_MODEL
from drover.readmodel.form import digest_of, next_forms, read_forms
from drover.readmodel.models import READ_MODELS

TABLE = "CREATE TABLE parts (\n  id uuid PRIMARY KEY\n);"
FIRST = next_forms({}, {"inventory": TABLE})


def test_every_read_model_has_the_form_that_was_counted_last():
    counted = {context: form.digest for context, form in read_forms().items()}
    assert counted == {model.context: digest_of(model.ddl) for model in READ_MODELS}, "run `make contracts`"


def test_a_new_read_model_has_not_changed():
    assert FIRST["inventory"].number == 0


def test_other_tables_raise_the_number_by_one():
    assert next_forms(FIRST, {"inventory": TABLE.replace("uuid", "text")})["inventory"].number == 1


def test_the_same_tables_with_another_comment_keep_it():
    assert next_forms(FIRST, {"inventory": f"-- Spare parts.\n{TABLE}"}) == FIRST


def test_a_change_of_the_tables_raises_the_version_of_the_projection(monkeypatch):
    before = context_projection(FLEET, READ_MODEL, rules=RULES, version=4).version
    changed = next_forms(read_forms(), {"fleet": READ_MODEL.ddl + TABLE})
    monkeypatch.setattr("drover.readmodel.model.read_forms", lambda: changed)
    assert context_projection(FLEET, READ_MODEL, rules=RULES, version=4).version == before + 1
