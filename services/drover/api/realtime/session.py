"""The protocol with one client: takes its frames, makes the frames for it. No sockets, no waiting.

`Office` holds what all clients of a process share.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
from uuid_utils import uuid4

from drover.api.realtime import limits
from drover.api.realtime.bindings import (
    BadBinding,
    Binding,
    Live,
    bind,
    filter_chars,
    meaningful,
    pattern_chars,
    reason_of,
)
from drover.api.realtime.capacity import Allowance, Open, why_full
from drover.api.realtime.changes import EVENT as POSTGRES_CHANGES
from drover.api.realtime.frames import BROADCAST, BadFrame, Frame, Ref, Vsn, decode, encode
from drover.api.realtime.metrics import CHANNELS
from drover.api.realtime.payloads import (
    Broadcasting,
    Config,
    PresenceConfig,
    decode_broadcast,
    decode_join,
    decode_token,
    decode_tracking,
)
from drover.api.realtime.presence import Topic, meta_of, presence_bytes
from drover.api.realtime.rooms import PREFIX, Rooms
from drover.api.realtime.subscriptions import Subscriptions
from drover.bus.realtime import Present
from drover.service.api_keys import Role
from drover.web.access import Access
from drover.web.auth import Authenticator, Principal
from drover.web.errors import ApiError, NotYet
from drover.web.permissions import PRIVATE_CHANNELS, PUBLIC_CHANNELS, Permissions, Verb
from drover.web.sse import CUT_OFF

PHOENIX: Final = "phoenix"
"""The topic of heartbeats."""
AGENTS: Final = (Role.ANON, Role.DEVICE)
"""The roles of keys in phones."""

_encode: Final = msgspec.json.Encoder().encode
_EMPTY: Final = b"{}"


@dataclass(frozen=True, kw_only=True)
class Office:
    access: Access
    live: Live
    rooms: Rooms
    subscriptions: Subscriptions[Channel] = field(default_factory=Subscriptions)
    open: Open = field(default_factory=Open)
    clock: Callable[[], float] = time.time
    """The Unix time, to check when tokens expire."""

    @property
    def auth(self) -> Authenticator:
        return self.access.auth

    @property
    def permissions(self) -> Permissions:
        return self.access.permissions

    def demand_channel(self, principal: Principal, *, is_private: bool) -> None:
        """Raise 403 if the caller may not use channels of this kind."""
        self.permissions.demand(principal, PRIVATE_CHANNELS if is_private else PUBLIC_CHANNELS, Verb.CONNECT)


class Channel:
    """A topic that a client has joined."""

    def __init__(self, session: Session, frame: Frame, config: Config, principal: Principal) -> None:
        broadcast, presence = config.broadcast or Broadcasting(), config.presence or PresenceConfig()
        self.topic: Final = frame.topic
        self.vsn: Final = session.vsn
        self.send: Final = session.send
        self.session: Final = session
        self.join_ref: Final[Ref] = frame.join_ref if frame.join_ref is not None else frame.ref
        self.room: Final = Topic(frame.topic.removeprefix(PREFIX), bool(config.private))
        self.principal = principal
        self.asked: Final = meaningful(config.postgres_changes or [])
        self.filter_chars: Final = filter_chars(self.asked)
        self.bindings: list[Binding] = []
        self.bind_cost: Final = (
            len(frame.payload) / limits.JOIN_BYTES_PER_MESSAGE
            + pattern_chars(self.asked) / limits.PATTERN_CHARS_PER_MESSAGE
        )
        """How many messages a join of this channel counts as."""
        self.hears_itself: Final = bool(broadcast.self)
        self.acknowledges: Final = bool(broadcast.ack)
        self.sees_presence: Final = presence.enabled is not False
        self.presence_key: Final = presence.key or str(uuid4())
        self.present: Present | None = None
        self.joined_at: Final = session.monotonic()

    @property
    def is_joined(self) -> bool:
        return self.session.channels.get(self.topic) is self

    def push(self, event: str, payload: bytes) -> None:
        self.send(encode(self.vsn, self.topic, event, payload, join_ref=self.join_ref))

    def system(self, status: str, message: str, extension: str = "system") -> None:
        said = {"status": status, "message": message, "extension": extension, "channel": self.room.name}
        self.push("system", _encode(said))


class Session:
    def __init__(
        self,
        office: Office,
        vsn: Vsn,
        headers: Mapping[str, str],
        send: Callable[[bytes], None],
        monotonic: Callable[[], float] = time.monotonic,
        *,
        allowance: Allowance | None = None,
    ) -> None:
        """`headers`: with the key that opened the socket. `send`: queues a frame for the client, without waiting.
        `allowance`: how much it may send."""
        self.vsn: Final = vsn
        self.send: Final = send
        self.channels: dict[str, Channel] = {}
        self._office = office
        self._headers = headers
        self.monotonic: Final = monotonic
        self._allowance = allowance or Allowance.of_one_socket(monotonic)
        self._handlers: Final[Mapping[str, Callable[[Channel, Frame], None]]] = {
            "phx_leave": self._leave,
            "access_token": self._refresh,
            BROADCAST: self._broadcast,
            "presence": self._presence,
        }

    def receive(self, data: str | bytes) -> None:
        """Handle one frame. Raises `BadFrame`, or `NotYet` while the keys of a token's issuer are being fetched: then
        nothing was done, so wait and call again."""
        self._allowance.use(1.0)
        frame = decode(data, self.vsn)
        if frame.topic == PHOENIX:
            self._reply(frame, "ok", _EMPTY)
        elif frame.event == "phx_join":
            self._join(frame)
        elif (channel := self.channels.get(frame.topic)) is None or not _is_of(channel, frame):
            self._refuse(frame, "unmatched topic")
        elif (handler := self._handlers.get(frame.event)) is not None:
            try:
                handler(channel, frame)
            except msgspec.DecodeError as error:
                raise BadFrame(str(error)) from error

    def look(self) -> None:
        """Close the channels whose token has expired or was revoked, or whose session has ended. If this process's list
        of revoked keys is too old to tell, drop all channels with an error, so that the clients join again."""
        now, is_current = self._office.clock(), self._office.auth.is_current
        for channel in [*self.channels.values()]:
            if not is_current:
                self.rejoin(channel, CUT_OFF)
            elif channel.principal.expires_at <= now or not self._office.auth.holds(channel.principal):
                self._close(channel, "InvalidJWTToken: Token has expired")

    def rejoin(self, channel: Channel, why: str) -> None:
        """Drop a channel, and send the client an error with the reason. Clients then join again by themselves, and read
        the rows again."""
        self._drop(channel)
        channel.push("phx_error", _encode({"reason": why}))

    def close(self) -> None:
        """Leave all channels, because the socket was closed."""
        for channel in [*self.channels.values()]:
            self._drop(channel)

    # Frames

    def _join(self, frame: Frame) -> None:
        name = frame.topic.removeprefix(PREFIX)
        if not frame.topic.startswith(PREFIX) or not 0 < len(name.encode()) <= limits.TOPIC_CHARS_MAX - len(PREFIX):
            self._refuse(frame, f"A topic is {PREFIX}<name>, at most {limits.TOPIC_CHARS_MAX} bytes long")
            return
        try:
            asked = decode_join(frame.payload)
            config = asked.config or Config()
            principal = self._authenticate(asked.access_token)
            self._office.demand_channel(principal, is_private=bool(config.private))
            channel = Channel(self, frame, config, principal)
            if len(channel.presence_key) > limits.KEY_CHARS_MAX:
                raise BadBinding(f"A presence key has at most {limits.KEY_CHARS_MAX} characters")
            if not _is_short(channel.join_ref):
                raise BadBinding("The join_ref is too long")
            self._allowance.use(channel.bind_cost)
            bindings = bind(channel.asked, principal, self._office.permissions, self._office.live)
        except msgspec.DecodeError as error:
            self._refuse(frame, f"The configuration of the channel cannot be read: {error}")
            return
        except NotYet:
            raise
        except (ApiError, BadBinding) as error:
            self._refuse(frame, _why(error))
            return
        if (old := self.channels.get(frame.topic)) is not None:  # as in Phoenix, the newer join replaces the older
            self._drop(old)
            old.push("phx_close", _EMPTY)
        if (full := self._why_full(channel, bindings)) is not None:
            self._refuse(frame, f"ChannelRateLimitReached: {full}")
            return
        self.channels[frame.topic] = channel
        CHANNELS.inc()
        self._office.open.channels += 1
        self._office.open.filter_chars += channel.filter_chars
        self._office.rooms.join(channel.room, channel)
        self._subscribe(channel, bindings)
        self._welcome(channel, frame)

    def _welcome(self, channel: Channel, frame: Frame) -> None:
        self._reply(frame, "ok", _encode({"postgres_changes": [one.told for one in channel.bindings]}), channel)
        if channel.bindings:
            channel.system("ok", "Subscribed to PostgreSQL", POSTGRES_CHANGES)
        if channel.sees_presence:
            channel.push("presence_state", self._office.rooms.presences.state(channel.room))

    def _leave(self, channel: Channel, frame: Frame) -> None:
        self._drop(channel)
        self._reply(frame, "ok", _EMPTY, channel)
        channel.push("phx_close", _EMPTY)

    def _refresh(self, channel: Channel, frame: Frame) -> None:
        """Take a newer token. From now on, the channel has the rights of this token."""
        token = decode_token(frame.payload).access_token
        if token is None:
            return
        try:
            principal = self._authenticate(token)
            self._allowance.use(channel.bind_cost)
            bindings = bind(channel.asked, principal, self._office.permissions, self._office.live)
            self._office.demand_channel(principal, is_private=channel.room.is_private)
        except NotYet:
            raise
        except (ApiError, BadBinding) as error:
            self._close(channel, _why(error))
            return
        channel.principal = principal
        if [one.wishes for one in bindings] != [one.wishes for one in channel.bindings]:
            self._unsubscribe(channel)
            if (full := self._why_full(channel, bindings)) is not None:
                self._close(channel, f"ChannelRateLimitReached: {full}")
                return
            self._subscribe(channel, bindings)

    def _broadcast(self, channel: Channel, frame: Frame) -> None:
        event = decode_broadcast(frame.payload).event
        if len(event.encode()) > limits.EVENT_CHARS_MAX:
            raise BadFrame(f"an event has at most {limits.EVENT_CHARS_MAX} bytes")
        rooms = self._office.rooms
        self._allowance.use(rooms.size(channel.room) / limits.FRAMES_PER_MESSAGE)
        but = None if channel.hears_itself else channel
        rooms.broadcast(channel.room, event, frame.payload, frame.data, but=but)
        if channel.acknowledges:
            self._reply(frame, "ok", _EMPTY, channel)

    def _presence(self, channel: Channel, frame: Frame) -> None:
        asked = decode_tracking(frame.payload)
        rooms = self._office.rooms
        self._allowance.use(rooms.size(channel.room) / limits.FRAMES_PER_MESSAGE)
        if asked.event.lower() == "untrack":
            self._untrack(channel)
        elif asked.event.lower() != "track":
            self._reply(frame, "error", _encode({"reason": "Use track or untrack"}), channel)
            return
        elif len(bytes(frame.payload)) > limits.PRESENCE_BYTES_MAX:
            reason = f"A presence has at most {limits.PRESENCE_BYTES_MAX} bytes"
            self._reply(frame, "error", _encode({"reason": reason}), channel)
            return
        elif channel.present is None and rooms.presences.count(channel.room) >= limits.PRESENCES_PER_TOPIC_MAX:
            reason = f"A topic has at most {limits.PRESENCES_PER_TOPIC_MAX} presences"
            self._reply(frame, "error", _encode({"reason": reason}), channel)
            return
        elif channel.present is None and rooms.presences.own >= limits.PRESENCES_MAX:
            self._reply(frame, "error", _encode({"reason": "Too many clients are present"}), channel)
            return
        elif not self._track(channel, asked.payload or {}):
            reason = f"The presences of a topic have at most {limits.PRESENCE_BYTES_PER_TOPIC_MAX} bytes"
            self._reply(frame, "error", _encode({"reason": reason}), channel)
            return
        self._reply(frame, "ok", _EMPTY, channel)

    # Steps that several frames share

    def _track(self, channel: Channel, payload: dict[str, Any]) -> bool:
        """Make the client present. Return False if the topic has no room for it."""
        old, ref = channel.present, uuid4().hex[:16]
        meta = meta_of(payload, ref, None if old is None else old.ref)
        more_bytes = presence_bytes(channel.presence_key, meta)
        if old is not None:
            more_bytes -= presence_bytes(old.key, old.meta)
        if self._office.rooms.presences.size_bytes(channel.room) + more_bytes > limits.PRESENCE_BYTES_PER_TOPIC_MAX:
            return False
        new = Present(channel.room.name, channel.room.is_private, channel.presence_key, ref, meta)
        channel.present = new
        self._office.rooms.move(*([(old, False)] if old is not None else []), (new, True))
        return True

    def _untrack(self, channel: Channel) -> None:
        old, channel.present = channel.present, None
        if old is not None:
            self._office.rooms.move((old, False))

    def _why_full(self, channel: Channel, bindings: list[Binding]) -> str | None:
        """Return why the channel cannot have these bindings, beside all others that are open. None: it can."""
        in_process = self._office.open
        if channel.is_joined:
            in_process = Open(in_process.channels - 1, in_process.filter_chars - channel.filter_chars)
        return why_full(
            bindings,
            filter_chars=channel.filter_chars,
            on_socket=[one.bindings for one in self.channels.values() if one is not channel],
            in_process=in_process,
            subscriptions=self._office.subscriptions,
            is_agent=channel.principal.role in AGENTS,
        )

    def _authenticate(self, token: str | None) -> Principal:
        """Find the owner of the token or, without a token, of the key that opened the socket. Raises 401."""
        if not token:
            return self._office.auth.authenticate(self._headers)
        return self._office.auth.authenticate({**self._headers, "Authorization": f"Bearer {token}"})

    def _subscribe(self, channel: Channel, bindings: list[Binding]) -> None:
        channel.bindings = bindings
        for one in bindings:
            for wish in one.wishes:
                self._office.subscriptions.add(wish, channel, one.id)

    def _unsubscribe(self, channel: Channel) -> None:
        for one in channel.bindings:
            for wish in one.wishes:
                self._office.subscriptions.remove(wish, channel, one.id)
        channel.bindings = []

    def _close(self, channel: Channel, why: str) -> None:
        """Close a channel for good: the client does not join again by itself. It first needs something else, for
        example a new token."""
        self._drop(channel)
        channel.system("error", why)
        channel.push("phx_close", _EMPTY)

    def _drop(self, channel: Channel) -> None:
        if channel.is_joined:
            del self.channels[channel.topic]
            CHANNELS.dec()
            self._office.open.channels -= 1
            self._office.open.filter_chars -= channel.filter_chars
            self._unsubscribe(channel)
            self._office.rooms.leave(channel.room, channel)
            self._untrack(channel)

    def _reply(self, frame: Frame, status: str, response: bytes, channel: Channel | None = None) -> None:
        payload = _encode({"status": status, "response": msgspec.Raw(response)})
        join_ref = frame.join_ref if channel is None else channel.join_ref
        self.send(encode(self.vsn, frame.topic, "phx_reply", payload, ref=frame.ref, join_ref=join_ref))

    def _refuse(self, frame: Frame, reason: str) -> None:
        self._reply(frame, "error", _encode({"reason": reason}))


def _is_short(ref: Ref) -> bool:
    if isinstance(ref, int):
        return ref.bit_length() < 64
    return ref is None or len(ref) <= limits.KEY_CHARS_MAX


def _is_of(channel: Channel, frame: Frame) -> bool:
    """Whether the frame belongs to the current join of the channel. Frames sent before it have another `join_ref`."""
    return frame.join_ref is None or frame.join_ref == channel.join_ref


def _why(error: ApiError | BadBinding) -> str:
    reason = reason_of(error)
    if isinstance(error, ApiError) and error.status == 401:
        return f"InvalidJWTToken: {reason}"
    if isinstance(error, ApiError) and error.status == 403:
        return f"Unauthorized: {reason}"
    return reason
