"""A client of Realtime without a socket: says what real clients say, and notes what it is sent."""

from __future__ import annotations

import time
from typing import Any

import msgspec

from drover.api.realtime.frames import Vsn
from drover.api.realtime.rooms import Rooms
from drover.api.realtime.session import Office, Session
from drover.api.realtime.watcher import RowsWatcher
from drover.api.rows.hub import Hub
from drover.bus.rows import RowsChanged, RowsHeartbeat
from drover.readmodel.models import LIVE
from drover.service.api_keys import Role, issue_api_key
from drover.web.access import Access
from drover.web.auth import Authenticator
from drover.web.callers import Callers
from drover.web.permissions import Permissions

SECRET = "s" * 32
MINE, OTHER = "018f2b5e-0000-7000-8000-00000000000a", "018f2b5e-0000-7000-8000-00000000000b"
Message = tuple[str, str, Any]
"""(topic, event, payload)."""


def key_of(role: Role = Role.SERVICE_ROLE, *, now_s: float | None = None, lifetime_s: float = 3600) -> str:
    device = {"device_id": MINE} if role is Role.DEVICE else {}
    return issue_api_key(SECRET, role, now_s=now_s or time.time(), lifetime_s=lifetime_s, **device)


class Farm:
    """A process with a hub that the test feeds."""

    def __init__(self, clock=time.time, *, anon: Any = "agent", **auth: Any) -> None:
        self.rooms = Rooms()
        self.hub = Hub({})
        self.office = Office(
            access=Access(Authenticator([SECRET], clock=clock, **auth), Permissions(anon=anon), Callers()),
            live=LIVE,
            rooms=self.rooms,
            clock=clock,
        )
        self.now = 0.0
        """Monotonic seconds."""
        self.watcher = RowsWatcher(self.office, self.monotonic)
        self.hub.watch(self.watcher)
        self.epoch = "e1"
        self._last: dict[str, int] = {}

    def monotonic(self) -> float:
        return self.now

    def beat(self, context: str = "fleet") -> None:
        names = [name for name, many in LIVE.items() if any(one.context == context for one in many)]
        last = {name: self._last.get(name, 10) for name in names}
        self.hub.heartbeat(context, RowsHeartbeat(epoch=self.epoch, partition="main", seq=10, last=last))

    def tell(self, relation: str, *rows: Any, new: Any = (), gone: Any = (), hole: bool = False, **more: Any) -> None:
        """The next changed rows of a relation."""
        after = self._last.get(relation, 10) + (1 if hole else 0)
        self._last[relation] = after + 1
        raw = [msgspec.Raw(msgspec.json.encode(row)) for row in rows]
        message = RowsChanged(
            epoch=self.epoch,
            partition="main",
            after=after,
            to=after + 1,
            rows=raw,
            new=[*new],
            gone=[*gone],
            **more,
        )
        self.hub.changed(LIVE[relation][0].context, relation, message)

    def client(self, role: Role = Role.SERVICE_ROLE, vsn: Vsn = Vsn.TWO, **key: Any) -> Client:
        return Client(self, key_of(role, **key), vsn)


class Client:
    def __init__(self, farm: Farm, key: str, vsn: Vsn) -> None:
        self.frames: list[bytes] = []
        self.key = key
        self.session = Session(farm.office, vsn, {"apikey": key}, self.frames.append, farm.monotonic)
        self.vsn = vsn
        self._ref = 0

    def say(self, topic: str, event: str, payload: Any, join_ref: str | None = "1") -> str:
        self._ref += 1
        ref = str(self._ref)
        if self.vsn is Vsn.ONE:
            said: Any = {"topic": topic, "event": event, "payload": payload, "ref": ref, "join_ref": join_ref}
        else:
            said = [join_ref, ref, topic, event, payload]
        self.session.receive(msgspec.json.encode(said).decode())
        return ref

    def join(self, name: str = "farm", *changes: dict[str, Any], token: str | None = None, **config: Any) -> Any:
        """Join a topic; the server's reply."""
        asked = [{"event": "*", "schema": "public", **one} for one in changes]
        payload = {"config": {"presence": {"enabled": False}, **config, "postgres_changes": asked}}
        self.say(f"realtime:{name}", "phx_join", payload if token is None else payload | {"access_token": token})
        return next(what for _, event, what in self.take() if event == "phx_reply")

    def take(self) -> list[Message]:
        """All messages since the last time."""
        frames, self.frames[:] = [*self.frames], []
        return [self._read(frame) for frame in frames]

    def _read(self, frame: bytes) -> Message:
        told = msgspec.json.decode(frame)
        if self.vsn is Vsn.ONE:
            return told["topic"], told["event"], told["payload"]
        _, _, topic, event, payload = told
        return topic, event, payload

    def changes(self) -> list[tuple[str, Any, Any]]:
        """(type, record, old_record) of all changes since the last time."""
        told = [what["data"] for _, event, what in self.take() if event == "postgres_changes"]
        return [(one["type"], one.get("record"), one.get("old_record")) for one in told]
