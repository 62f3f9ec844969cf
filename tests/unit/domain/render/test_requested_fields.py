"""What a client may set on a render: those who have the fields of the request."""

from drover.domain.render.commands import RequestRender
from drover.domain.render.events import RenderRequested
from drover.domain.render.state import Render, RenderPurpose
from drover.readmodel.render.queue import RenderRow


def test_event_and_state_have_every_field_of_the_request():
    fields = set(RequestRender.__struct_fields__)
    assert fields <= set(RenderRequested.__struct_fields__)
    assert fields <= set(Render.__struct_fields__)


def test_the_row_shows_what_the_render_is_for():
    assert set(RenderPurpose.__struct_fields__) <= set(RenderRow.__struct_fields__)
