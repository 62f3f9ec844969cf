"""Converts gfx_data (the data to render) to nexrender's assets by the composition's mapping, and lists all data that it
leaves out. Document 003 (the render queue) defines the form of gfx_data in §3.4.2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from drover.domain.errors import DroverError
from drover.domain.render.images import image_path
from drover.domain.render.mapping_spec import Layer

SLOTS_MAX: Final = 200
SLOT_NUMBER_MAX: Final = 9_999
FIELDS_MAX: Final = 1000
NAME_CHARS_MAX: Final = 150
"""The maximum length of a field's name in gfx_data. A mapping adds a prefix to it, so its names may be longer."""
TEXT_CHARS_MAX: Final = 10_000
NUMBER_MAX: Final = 10**30


class GfxDataInvalid(DroverError):
    """gfx_data does not have the form that document 003 (the render queue) defines in §3.4.2."""

    def __init__(self, place: str, expected: str) -> None:
        self.place = place
        self.expected = expected
        super().__init__(f"gfx_data: {place} must be {expected}")


class Assets(msgspec.Struct, frozen=True):
    assets: list[dict[str, str]]
    """The assets for nexrender. Their `src` is a path, which the nexrender client turns into a URL."""
    unmapped: list[str]
    """What is not in the assets: fields without a layer (by the key that a mapping would need), forbidden images,
    values that another field has replaced, and data in places that document 003 does not define."""
    fields: int = 0
    """How many fields were found that a mapping could give a layer."""
    unusable_images: list[str] = []
    """Pictures that gfx_data or the mapping names and that are not below the image folder, each with its field."""

    @property
    def mapping_missing(self) -> bool:
        """Whether there are fields, but none of them has a layer. Data in places that document 003 does not define does
        not count as a field."""
        return self.fields > 0 and not self.assets


class _Found(msgspec.Struct, frozen=True):
    key: str
    value: Any
    flag: int | None = None
    """The number of the flag, for flags: they have a layer even without a mapping."""
    is_picture: bool = False
    """Whether the value can only be a picture. False for a slot's `country`, for example, which may also be shown as a
    text."""
    is_field: bool = True


def to_assets(gfx_data: Any, fields: Mapping[str, Layer], *, images: str) -> Assets:
    """Convert gfx_data to assets. `images`: the folder of flags and other images, as After Effects sees it. Files
    outside it are not used."""
    assets: dict[tuple[str, str, str], tuple[list[str], dict[str, str]]] = {}
    unmapped: list[str] = []
    unusable: list[str] = []
    count = 0
    for found in _found(gfx_data):
        count += found.is_field
        layer = _layer(found, fields)
        if layer is None:
            unmapped.append(found.key)
            continue
        asset = _asset(layer, found.value, images)
        if asset is None:
            unmapped.append(f"{found.key}: {_why_dropped(layer, images)}")
            if layer.kind == "image" and _shown(found.value).strip() and (found.is_picture or found.key in fields):
                unusable.append(f"{_shown(found.value)} ({found.key})")
            continue
        # Two values for one layer: the later one wins, as in After Effects.
        place = asset["type"], layer.layer_name, asset.get("property", "")
        keys, before = assets.get(place, ([], asset))
        if before != asset:
            unmapped += [f"{key}: {layer.layer_name} is given again by {found.key}" for key in keys]
            keys = []
        assets[place] = [*keys, found.key], asset
    placed = [asset for _, asset in assets.values()]
    return Assets(placed, list(dict.fromkeys(unmapped)), count, list(dict.fromkeys(unusable)))


def _layer(found: _Found, fields: Mapping[str, Layer]) -> Layer | None:
    if not found.is_field:
        return None
    layer = fields.get(found.key)
    if layer is None and found.flag is not None:
        flag = f"Flag {found.flag}"
        layer = fields.get(flag, Layer(flag, "image"))
    return layer


def _asset(layer: Layer, value: Any, images: str) -> dict[str, str] | None:
    match layer.kind:
        case "image":
            return _image(layer, value, images)
        case "expression":
            return _expression(layer, value)
        case "data":
            return _text(layer, value)


def _why_dropped(layer: Layer, images: str) -> str:
    return f"not an image in {images}" if layer.kind == "image" else "an empty expression"


def _expression(layer: Layer, value: Any) -> dict[str, str] | None:
    expression = _shown(value)  # nexrender refuses an empty one
    asset = {"type": "data", "layerName": layer.layer_name, "property": layer.property, "expression": expression}
    return asset if expression else None


def _text(layer: Layer, value: Any) -> dict[str, str]:
    return {"type": "data", "layerName": layer.layer_name, "property": layer.property, "value": _shown(value)}


def _image(layer: Layer, value: Any, images: str) -> dict[str, str] | None:
    path = image_path(_shown(value), images)
    return None if path is None else {"type": "image", "layerName": layer.layer_name, "src": path}


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))  # show 250.0 as 250
    return str(value)


def _found(gfx_data: Any) -> Iterator[_Found]:
    if not isinstance(gfx_data, dict):
        raise GfxDataInvalid("it", "an object")
    yield from _slots(gfx_data.get("slots") or [])
    for name, value in _object(gfx_data.get("single_fields") or {}, "single_fields"):
        yield _Found(f"Single - {name}", value)
    for place in ("flags", "flag_fields"):
        yield from _flags(gfx_data.get(place) or [], place)
    yield from _others(gfx_data, "", ("composition_name", "slots", "single_fields", "flags", "flag_fields"))


def _slots(slots: Any) -> Iterator[_Found]:
    if not isinstance(slots, list) or len(slots) > SLOTS_MAX:
        raise GfxDataInvalid("slots", f"a list of at most {SLOTS_MAX}")
    for position, slot in enumerate(slots, 1):
        place = f"slots[{position - 1}]"
        if not isinstance(slot, dict):
            raise GfxDataInvalid(place, "an object")
        number = _number(slot, position, place)
        for name, value in _object(slot.get("fields") or {}, f"{place}.fields"):
            yield _Found(f"Slot {number} - {name}", value, number if name == "country" else None)
        if "country" in slot:  # it may stand beside `fields` or in it
            yield _Found(f"Slot {number} - country", _scalar(slot["country"], f"{place}.country"), number)
        yield from _others(slot, f"{place}.", ("slot_number", "fields", "country"))


def _flags(flags: Any, place: str) -> Iterator[_Found]:
    """Find the flags in gfx_data: a list of countries or paths, a list of numbered objects, or an object by number or
    layer."""
    if isinstance(flags, dict):
        for name, value in _object(flags, place):
            number = _flag_number(name)
            key = f"Flag - {name}" if number is None else f"Flag {number}"
            yield _Found(key, value, number, is_picture=True)
        return
    if not isinstance(flags, list) or len(flags) > SLOTS_MAX:
        raise GfxDataInvalid(place, f"a list of at most {SLOTS_MAX}, or an object")
    for position, flag in enumerate(flags, 1):
        where = f"{place}[{position - 1}]"
        if not isinstance(flag, dict):
            yield _Found(f"Flag {position}", _scalar(flag, where), position, is_picture=True)
            continue
        number = _number(flag, position, where)
        named = next((name for name in ("country", "path", "src", "value") if name in flag), "value")
        yield _Found(f"Flag {number}", _scalar(flag.get(named), where), number, is_picture=True)
        yield from _others(flag, f"{where}.", ("slot_number", named))


def _flag_number(name: str) -> int | None:
    digits = name.removeprefix("Flag").strip()
    if not digits.isdecimal() or len(digits) > len(str(SLOT_NUMBER_MAX)):
        return None
    return int(digits) or None  # layers start at `Flag 1`


def _number(numbered: dict[str, Any], position: int, place: str) -> int:
    """Return the `slot_number` of an object if it has one, otherwise its position in the list."""
    number = numbered.get("slot_number", position)
    if not isinstance(number, int) or isinstance(number, bool) or not 0 < number <= SLOT_NUMBER_MAX:
        raise GfxDataInvalid(f"{place}.slot_number", f"a number from 1 to {SLOT_NUMBER_MAX}")
    return number


def _others(found: dict[Any, Any], place: str, known: tuple[str, ...]) -> Iterator[_Found]:
    for name in found:
        if name not in known:
            yield _Found(place + str(name)[:NAME_CHARS_MAX], None, is_field=False)


def _object(fields: Any, place: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(fields, dict) or len(fields) > FIELDS_MAX:
        raise GfxDataInvalid(place, f"an object of at most {FIELDS_MAX} fields")
    for name, value in fields.items():
        if not isinstance(name, str) or len(name) > NAME_CHARS_MAX:
            raise GfxDataInvalid(place, f"an object whose names have at most {NAME_CHARS_MAX} characters")
        yield name, _scalar(value, f"{place}.{name}")


def _scalar(value: Any, place: str) -> Any:
    if isinstance(value, str):
        if len(value) > TEXT_CHARS_MAX:
            raise GfxDataInvalid(place, f"at most {TEXT_CHARS_MAX} characters")
    elif isinstance(value, int | float):  # bool is an int, too
        if not abs(value) < NUMBER_MAX:  # also false for NaN
            raise GfxDataInvalid(place, "a finite number of normal size")
    elif value is not None:
        raise GfxDataInvalid(place, "a text, a number or a boolean")
    return value
