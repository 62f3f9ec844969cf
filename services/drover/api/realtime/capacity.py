"""How much one socket and all sockets of a process may use: messages, channels, subscriptions and filters."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from drover.api.realtime import limits
from drover.api.realtime.bindings import Binding
from drover.api.realtime.subscriptions import Subscriptions
from drover.web.auth import Principal
from drover.web.limits import PERSONAL
from drover.web.ratelimit import KEYS_MAX, Limiter, Refused


@dataclass
class Open:
    """Counts what all channels of a process use."""

    channels: int = 0
    filter_chars: int = 0


class TooManyMessages(Exception):
    """The client sends more messages than it may."""


class Allowance:
    """Limits the messages of one socket, or of all sockets of one principal."""

    def __init__(self, limiter: Limiter, key: str) -> None:
        self._limiter = limiter
        self._key = key

    @classmethod
    def of_one_socket(cls, clock: Callable[[], float] = time.monotonic) -> Allowance:
        return cls(_limiter(clock, keys_max=1), "")

    def use(self, messages: float) -> None:
        if isinstance(self._limiter.check(self._key, messages), Refused):
            raise TooManyMessages


class Allowances:
    """The allowances of the sockets of a process. The sockets of a person or a device share one, also those that come
    one after the other. With a key that many clients share, each socket has its own: otherwise one client could use up
    what the others need."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._personal = _limiter(clock)

    def of(self, principal: Principal) -> Allowance:
        if principal.role not in PERSONAL:
            return Allowance.of_one_socket(self._clock)
        return Allowance(self._personal, principal.name)


def _limiter(clock: Callable[[], float], keys_max: int = KEYS_MAX) -> Limiter:
    return Limiter(limits.MESSAGES_PER_S, limits.MESSAGES_BURST, stop_after=None, keys_max=keys_max, clock=clock)


def why_full(
    bindings: list[Binding],
    *,
    filter_chars: int,
    on_socket: Collection[list[Binding]],
    in_process: Open,
    subscriptions: Subscriptions[Any],
    is_agent: bool,
) -> str | None:
    """Return why a channel with these bindings would exceed a limit. None: it does not.

    `on_socket`: the bindings of each channel that the client has joined. `is_agent`: the key is one in phones, which
    must leave room for others.
    """
    if len(on_socket) >= limits.CHANNELS_PER_SOCKET_MAX:
        return f"At most {limits.CHANNELS_PER_SOCKET_MAX} channels on one socket"
    if in_process.channels >= (limits.AGENT_CHANNELS_MAX if is_agent else limits.CHANNELS_MAX):
        return "Too many channels are open"
    wanted = _count(bindings)
    if wanted + sum(map(_count, on_socket)) > limits.SUBSCRIPTIONS_PER_SOCKET_MAX:
        return f"At most {limits.SUBSCRIPTIONS_PER_SOCKET_MAX} subscriptions on one socket"
    total_max = limits.AGENT_SUBSCRIPTIONS_MAX if is_agent else limits.SUBSCRIPTIONS_MAX
    if wanted and subscriptions.total + wanted > total_max:
        return "Too many subscriptions are open"
    chars_max = limits.AGENT_FILTERS_CHARS_MAX if is_agent else limits.FILTERS_CHARS_MAX
    if filter_chars and in_process.filter_chars + filter_chars > chars_max:
        return "Too many filters are open"
    comparisons = sum(wish.comparisons for one in bindings for wish in one.wishes)
    comparisons_max = limits.AGENT_COMPARISONS_MAX if is_agent else limits.COMPARISONS_MAX
    if comparisons and subscriptions.comparisons + comparisons > comparisons_max:
        return "Too many filters are open that are compared with every row; use column=eq.value"
    return None


def _count(bindings: list[Binding]) -> int:
    return sum(len(one.wishes) for one in bindings)
