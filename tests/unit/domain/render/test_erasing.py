"""The gfx_data of a render is erased."""

import pytest

from drover.domain.erasure import token_of
from drover.domain.errors import Code
from drover.domain.render import RENDER
from drover.domain.render.commands import EraseRender, RerunRender
from drover.domain.render.events import RenderArchived, RenderErased
from tests.unit.domain.render.world import ENDED_STATES, WORKING_STATES, queue, queue_of, requested

pytestmark = pytest.mark.req("SE-09")
GFX_ID = requested().gfx_id


@pytest.mark.parametrize("status", ENDED_STATES)
def test_the_data_of_a_render_that_has_ended_is_erased_once(status):
    scenario = queue(*ENDED_STATES[status]).when(EraseRender(1, GFX_ID)).then(RenderErased(1, GFX_ID))
    assert RENDER.erasures(queue_of(scenario)) == {token_of("render", GFX_ID): 1}
    scenario.when(EraseRender(1, GFX_ID)).then().then_answers(render_id=1)


def test_the_data_of_a_render_that_the_state_has_forgotten_is_erased():
    queue(*ENDED_STATES["completed"], RenderArchived(1)).when(EraseRender(1, GFX_ID)).then(RenderErased(1, GFX_ID))


@pytest.mark.parametrize("events", [[requested()], *WORKING_STATES.values()])
def test_the_data_of_a_render_that_still_needs_it_is_not_erased(events):
    queue(*events).when(EraseRender(1, GFX_ID)).then_rejected(Code.CONFLICT)


def test_a_render_that_does_not_exist_or_has_other_data_is_not_found():
    queue(*ENDED_STATES["failed"]).when(EraseRender(1, "another")).then_rejected(Code.NOT_FOUND)
    queue().when(EraseRender(1, GFX_ID)).then_rejected(Code.NOT_FOUND)


def test_an_erased_render_is_not_run_again():
    queue(*ENDED_STATES["failed"]).when(EraseRender(1, GFX_ID)).when(RerunRender(1)).then_rejected(Code.CONFLICT)
