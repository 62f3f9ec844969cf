"""Prepares the nexrender job of a render (document 003, the render queue, §3.4)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import msgspec

from drover.domain.render.assets import Assets, GfxDataInvalid, to_assets
from drover.render.faults import ImageMissing, MappingMissing, TemplateMissing
from drover.render.nexrender.job import job_document
from drover.render.nexrender.states import CUT
from drover.render.queue import Composition, Details
from drover.render.workshop import Workshop
from drover.service.logging import HIDDEN
from drover.service.written_forms import written_forms

HIDDEN_CHARS_MIN: Final = 4
"""Minimum length of a value of gfx_data that is hidden in messages. Shorter ones reveal nothing by themselves, and
hiding them would make messages unreadable."""


class Prepared(msgspec.Struct, frozen=True):
    document: dict[str, Any]
    template: str
    unmapped: list[str]
    images: list[str]
    """The paths of the image files, as nexrender sees them."""

    def hidden_in(self, text: str) -> str:
        """Hide the values of gfx_data in a text: the log is clear text, and nexrender's messages may repeat its
        input."""
        assets = self.document["assets"]
        values = {str(asset[name]) for asset in assets for name in ("value", "expression") if name in asset}
        forms = {form for value in values for form in written_forms(value) if len(form) >= HIDDEN_CHARS_MIN}
        for form in sorted(forms, key=len, reverse=True):
            text = text.replace(form, HIDDEN)
        return _without_pieces(text, sorted(forms, key=len, reverse=True))


def _without_pieces(text: str, forms: Collection[str]) -> str:
    """Hide the parts of values that remain where a message was cut off: at its gaps, and at its end."""
    first, *others = text.split(CUT)
    pieces = [first, *(_without_end(other, forms) for other in others)]
    return CUT.join(_without_beginning(piece, forms) for piece in pieces)


def _without_beginning(piece: str, forms: Collection[str]) -> str:
    """If the piece ends with the beginning of a value, because the message was cut off there, hide this part."""
    end = piece.rstrip("'\"")
    for form in (form for form in forms if form[:HIDDEN_CHARS_MIN] in end):
        cut = next((cut for cut in _lengths(form, end) if end.endswith(form[:cut])), 0)
        if cut:
            return end[:-cut] + HIDDEN + piece[len(end) :]
    return piece


def _without_end(piece: str, forms: Collection[str]) -> str:
    """If the piece begins with the end of a value, hide this part. If the whole piece is from the middle of a value,
    hide all of it."""
    if len(piece) >= HIDDEN_CHARS_MIN and any(piece in form for form in forms):
        return HIDDEN
    for form in (form for form in forms if form[-HIDDEN_CHARS_MIN:] in piece):
        cut = next((cut for cut in _lengths(form, piece) if piece.startswith(form[-cut:])), 0)
        if cut:
            return HIDDEN + piece[cut:]
    return piece


def _lengths(form: str, piece: str) -> range:
    return range(min(len(form), len(piece)), HIDDEN_CHARS_MIN - 1, -1)


def prepare(workshop: Workshop, render: Details, composition: Composition, gfx_data: bytes) -> Prepared:
    """Make the nexrender job of a render. `gfx_data`: opened. Raises errors that `faults` maps to faults; a retry would
    not help."""
    assets = _assets(workshop, render, composition, gfx_data)
    template = _template(workshop, render, composition)
    document = job_document(
        uid=render.uid,
        render_id=render.render_id,
        template=template,
        composition=_composition_name(render, composition),
        output_module=composition.output_module,
        assets=assets.assets,
        output=workshop.folders.output_there_of(render.uid, render.render_id),
    )
    images = [asset["src"] for asset in assets.assets if "src" in asset]
    return Prepared(document, template, assets.unmapped, images)


def _composition_name(render: Details, composition: Composition) -> str:
    """Return the composition's name in After Effects: from its description, else from the request for the render."""
    return composition.name or render.composition


def _assets(workshop: Workshop, render: Details, composition: Composition, raw: bytes) -> Assets:
    try:
        gfx_data = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        raise GfxDataInvalid("it", "JSON") from error
    assets = to_assets(gfx_data, composition.fields, images=workshop.folders.images)
    if assets.unusable_images:
        raise ImageMissing(assets.unusable_images, workshop.folders.images)
    if assets.mapping_missing:
        raise MappingMissing(
            f"No field of gfx_data has a layer in composition {render.composition_id}: "
            f"{', '.join(assets.unmapped[:5])}. Add rows to aep_field_mapping"
        )
    return assets


def _template(workshop: Workshop, render: Details, composition: Composition) -> str:
    named = composition.template or workshop.template
    if not named:
        raise TemplateMissing(
            f"Composition {render.composition_id} has no template. Describe it in aep_compositions, or set "
            "DROVER_RENDER_TEMPLATE"
        )
    return workshop.folders.template(named)
