"""An explanation: the reasons why something stands where it does, as sentences for people and as data for programs."""

from __future__ import annotations

from typing import Literal

import msgspec

from drover.domain.fleet.why.formatting import Reason

About = Literal["render", "test", "reminder"]


class Explanation(msgspec.Struct, frozen=True):
    """Why a render, a test or a reminder stands where it does. `rpc/why` answers in the same form."""

    about: About
    id: str
    status: str
    reasons: list[Reason]
    """The reasons, never empty. The first reason in the list must be over before the others matter."""


class OpenAlert(msgspec.Struct, frozen=True):
    """An open alert that may be the reason."""

    kind: str
    message: str
