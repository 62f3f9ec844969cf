"""Every form of a snapshot that was ever released is still read, and the present form is published."""

import base64
from pathlib import Path

import msgspec
import pytest

from drover.domain.deciders import DECIDERS
from drover.writer.fold import FoldImage
from drover.writer.snapshots import snapshot_version
from tools.messages.published import FOLDER
from tools.snapshots.publishing import form_of, problems_with, read_forms

CONTRACTS = Path(__file__).parents[2] / FOLDER
pytestmark = pytest.mark.req("YR-06")


@pytest.mark.parametrize("decider", DECIDERS.values(), ids=lambda decider: decider.context)
def test_every_released_snapshot_is_still_read(decider):
    assert list(problems_with(decider, read_forms(CONTRACTS, decider.context))) == []


@pytest.mark.parametrize("decider", DECIDERS.values(), ids=lambda decider: decider.context)
def test_the_form_of_today_is_published(decider):
    published = read_forms(CONTRACTS, decider.context)
    assert snapshot_version(decider) in published, "run `make contracts`"
    kept, made = published[snapshot_version(decider)], form_of(decider)
    assert (kept.rules, kept.fold) == (made.rules, made.fold)
    msgspec.msgpack.decode(base64.b64decode(kept.sample), type=FoldImage)
