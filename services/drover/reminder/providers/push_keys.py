"""A browser's subscription, plain and sealed (encrypted). It is sealed because anyone with its address and keys can
push to the browser."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from drover.domain.ids import derived_uuid
from drover.service.sealing import SealDamaged, Sealer

CONTEXT: Final = "reminder"

_Key = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]{1,256}=*\Z", max_length=260)]


class PushKeys(msgspec.Struct, forbid_unknown_fields=True):
    p256dh: _Key
    auth: _Key


class PushSubscription(msgspec.Struct):
    """A subscription in the form of `PushSubscription.toJSON()`. Further fields that browsers send are ignored."""

    endpoint: Annotated[str, msgspec.Meta(pattern=r"^https://[^\s]+\Z", max_length=2048)]
    keys: PushKeys


_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(PushSubscription).decode


def id_of(user_id: str, subscription: PushSubscription) -> str:
    """Derive the id of a subscription. The same browser always gets the same id, so a new subscription replaces the old
    one."""
    return derived_uuid("subscription", user_id, subscription.endpoint)


def sealed(sealer: Sealer, subscription: PushSubscription, user_id: str, id_: str) -> str:
    return sealer.seal(_encode(subscription), context=CONTEXT, subject=_subject(user_id, id_))


def opened(sealer: Sealer, text: str, user_id: str, id_: str) -> PushSubscription:
    """Decrypt a sealed subscription. Raises UnknownSealingKey or SealDamaged."""
    plain = sealer.open(text, context=CONTEXT, subject=_subject(user_id, id_))
    try:
        return _decode(plain)
    except msgspec.DecodeError as error:
        raise SealDamaged("it is not a subscription") from error


def _subject(user_id: str, id_: str) -> str:
    return f"subscription:{user_id}:{id_}"
