"""A browser's subscription, plain and sealed (encrypted). It is sealed because anyone with its address and keys can
push to the browser."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from drover.bus.subject_keys import SubjectKeys
from drover.domain.erasure import parse_sealed
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


async def sealed(keys: SubjectKeys, subscription: PushSubscription, user_id: str, id_: str) -> str:
    """Seal a subscription with the key of its user. Raises KeysUnreachable."""
    key = (await keys.for_sealing([user_id]))[user_id]
    return key.seal(_encode(subscription), purpose=_purpose(id_))


async def opened(keys: SubjectKeys, text: str, user_id: str, id_: str) -> PushSubscription:
    """Decrypt a sealed subscription. Raises KeysUnreachable, Erased, UnknownSealingKey or SealDamaged."""
    if parse_sealed(text) is None:  # sealed by an earlier release: the text contains its own key
        plain = Sealer(keys.ring).open(text, context=CONTEXT, subject=_subject(user_id, id_))
    else:
        plain = (await keys.for_opening([text])).open(text, purpose=_purpose(id_))
    try:
        return _decode(plain)
    except msgspec.DecodeError as error:
        raise SealDamaged("it is not a subscription") from error


def _purpose(id_: str) -> str:
    return f"subscription:{id_}"


def _subject(user_id: str, id_: str) -> str:
    return f"subscription:{user_id}:{id_}"
