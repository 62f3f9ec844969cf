"""gfx_data as nexrender's assets, through the mapping of its composition (003 §3.4.2). Nothing is dropped unseen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, Final

import msgspec

from drover.domain.errors import DroverError

SLOTS_MAX: Final = 200
FIELDS_MAX: Final = 1000
TEXT_CHARS_MAX: Final = 10_000
IMAGE_SUFFIXES: Final = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp", ".tif", ".tiff", ".psd", ".ai", ".svg"})
FLAG_SUFFIX: Final = ".png"


class GfxDataInvalid(DroverError):
    """gfx_data is not what 003 §3.4.2 describes."""

    def __init__(self, place: str, expected: str) -> None:
        self.place = place
        self.expected = expected
        super().__init__(f"gfx_data: {place} must be {expected}")


class Layer(msgspec.Struct, frozen=True):
    """Where a field goes in After Effects."""

    layer_name: str
    kind: str = "data"
    """`data` or `image`."""
    property: str = "Source Text"


class Assets(msgspec.Struct, frozen=True):
    assets: list[dict[str, str]]
    unmapped: list[str]
    """Fields that have no layer, by the key that a mapping would need, and images that may not be used."""


class _Found(msgspec.Struct, frozen=True):
    key: str
    value: Any
    flag: int | None = None
    """The number of the flag that it is, if it is one: flags have a layer even without a mapping."""


def to_assets(gfx_data: Any, fields: Mapping[str, Layer], *, images: str) -> Assets:
    """`images`: the folder of flags and other pictures, as After Effects sees it. Nothing outside of it is used."""
    assets: dict[tuple[str, str], dict[str, str]] = {}
    unmapped: list[str] = []
    for found in _found(gfx_data):
        layer = fields.get(found.key)
        if layer is None and found.flag is not None:
            flag = f"Flag {found.flag}"
            layer = fields.get(flag, Layer(flag, "image"))
        if layer is None:
            unmapped.append(found.key)
            continue
        asset = _image(layer, found.value, images) if layer.kind == "image" else _text(layer, found.value)
        if asset is None:
            unmapped.append(f"{found.key}: not an image in {images}")
            continue
        # The same layer twice: the later one wins, as it would in After Effects.
        assets[asset["type"], layer.layer_name + "\0" + asset.get("property", "")] = asset
    return Assets(list(assets.values()), list(dict.fromkeys(unmapped)))


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
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))  # 250.0 chips are 250
    return str(value)


def image_path(named: str, images: str) -> str | None:
    """The file in the folder `images` that a country or a path names; None for what lies outside, or is no picture."""
    flavour = PureWindowsPath if _is_windows(images) else PurePosixPath
    folder, path = flavour(images), flavour(named.strip().removeprefix("file://"))
    if not named.strip() or any(ord(char) < 32 for char in named) or ".." in path.parts:
        return None
    if path.is_absolute() or path.drive:
        if not path.is_relative_to(folder):
            return None
    elif len(path.parts) == 1 and path.suffix.lower() not in IMAGE_SUFFIXES:
        path = flavour(f"flags/{path.name}{FLAG_SUFFIX}")  # a country
    if path.suffix.lower() not in IMAGE_SUFFIXES:
        return None
    return (folder / path).as_posix()


def _is_windows(folder: str) -> bool:
    return bool(PureWindowsPath(folder).drive)


def _found(gfx_data: Any) -> Iterator[_Found]:
    if not isinstance(gfx_data, dict):
        raise GfxDataInvalid("it", "an object")
    yield from _slots(gfx_data.get("slots") or [])
    single = gfx_data.get("single_fields") or {}
    for name, value in _object(single, "single_fields"):
        yield _Found(f"Single - {name}", value)
    for place in ("flags", "flag_fields"):
        yield from _flags(gfx_data.get(place) or [], place)


def _slots(slots: Any) -> Iterator[_Found]:
    if not isinstance(slots, list) or len(slots) > SLOTS_MAX:
        raise GfxDataInvalid("slots", f"a list of at most {SLOTS_MAX}")
    for position, slot in enumerate(slots, 1):
        place = f"slots[{position - 1}]"
        if not isinstance(slot, dict):
            raise GfxDataInvalid(place, "an object")
        number = slot.get("slot_number", position)
        if not isinstance(number, int) or isinstance(number, bool) or not 0 < number < 10_000:
            raise GfxDataInvalid(f"{place}.slot_number", "a number from 1 on")
        for name, value in _object(slot.get("fields") or {}, f"{place}.fields"):
            yield _Found(f"Slot {number} - {name}", value, number if name == "country" else None)
        if "country" in slot:  # beside the fields is as good as in them
            yield _Found(f"Slot {number} - country", _scalar(slot["country"], f"{place}.country"), number)


def _flags(flags: Any, place: str) -> Iterator[_Found]:
    """A list of countries or paths, in order; of objects with a number; or an object by number or layer."""
    if isinstance(flags, dict):
        for name, value in _object(flags, place):
            digits = str(name).removeprefix("Flag").strip()
            number = int(digits) if digits.isdecimal() and len(digits) < 5 else None
            yield _Found(f"Flag {number}" if number is not None else f"Flag - {name}", value, number)
        return
    if not isinstance(flags, list) or len(flags) > SLOTS_MAX:
        raise GfxDataInvalid(place, f"a list of at most {SLOTS_MAX}, or an object")
    for position, flag in enumerate(flags, 1):
        where = f"{place}[{position - 1}]"
        number, value = position, flag
        if isinstance(flag, dict):
            number = flag.get("slot_number", position)
            value = next((flag[name] for name in ("country", "path", "src", "value") if name in flag), None)
            if not isinstance(number, int) or isinstance(number, bool) or not 0 < number < 10_000:
                raise GfxDataInvalid(f"{where}.slot_number", "a number from 1 on")
        yield _Found(f"Flag {number}", _scalar(value, where), number)


def _object(fields: Any, place: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(fields, dict) or len(fields) > FIELDS_MAX:
        raise GfxDataInvalid(place, f"an object of at most {FIELDS_MAX} fields")
    for name, value in fields.items():
        yield name, _scalar(value, f"{place}.{name}")


def _scalar(value: Any, place: str) -> Any:
    if isinstance(value, dict | list):
        raise GfxDataInvalid(place, "a text, a number or a truth value")
    if isinstance(value, str) and len(value) > TEXT_CHARS_MAX:
        raise GfxDataInvalid(place, f"at most {TEXT_CHARS_MAX} characters")
    return value
