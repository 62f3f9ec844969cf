"""The subjects of identity's personal data: who a key is for.

One key seals the e-mail address and the password hash of a person's account, and the network addresses that the audit
has of them. Actors that are not people, such as `service_role`, have keys of their own for their addresses.
"""

from __future__ import annotations

from typing import Final

from drover.domain.erasure import token_of
from drover.domain.quota import PERSON

CONTEXT: Final = "identity"


def person(user_id: str) -> str:
    """Return the subject of a person: their name as an actor (`by`). `user_id`: the id of an account, or of somebody
    whom another issuer signs in."""
    return f"{PERSON}{user_id}"


def person_token(user_id: str) -> str:
    """Return the name of a person's key."""
    return token_of(CONTEXT, person(user_id))
