"""Prepares the nexrender job of a render (document 003, the render queue, §3.4)."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from drover.domain.render.assets import Assets, GfxDataInvalid, to_assets
from drover.render.faults import ImageMissing, MappingMissing, TemplateMissing
from drover.render.nexrender.job import job_document
from drover.render.queue import Composition, Details
from drover.render.workshop import Workshop

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
        for value in sorted(values, key=len, reverse=True):
            if len(value) >= HIDDEN_CHARS_MIN:
                text = text.replace(value, "•••")
        return text


def prepare(workshop: Workshop, render: Details, composition: Composition) -> Prepared:
    """Make the nexrender job of a render. Raises errors that `faults` maps to faults; a retry would not help."""
    assets = _assets(workshop, render, composition)
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


def _assets(workshop: Workshop, render: Details, composition: Composition) -> Assets:
    raw = workshop.sealer.open(render.gfx_data, context="render", subject=render.gfx_id)
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
