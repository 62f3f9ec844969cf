"""Who may do what, as one table. What the table does not allow is denied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Final, Literal, get_args

import msgspec

from drover.readmodel.relation import Relation
from drover.service.access_tokens import PEOPLE
from drover.service.api_keys import Role
from drover.service.config import Settings
from drover.web.auth import Principal
from drover.web.errors import ApiError
from drover.web.postgrest.sight import Sight


class Verb(StrEnum):
    __hash__ = str.__hash__  # for speed, as in `Role`

    READ = "read"
    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    CALL = "call"
    """Call a function. Its relation in the table of permissions is `rpc/<name>`."""
    CONNECT = "connect"
    """Open the WebSocket for agents, whose relation in the table is `agent`, or a private channel of Realtime."""


CHANGES: Final = frozenset({Verb.CREATE, Verb.UPDATE, Verb.DELETE})
"""The actions that change something."""


class Grant(msgspec.Struct, frozen=True):
    """Permission of a role for one action on one relation, with its limits."""

    role: Role
    relation: str
    verb: Verb
    columns: frozenset[str] | None = None
    """The columns that may be written. None: all columns that the handler knows."""
    own: bool = False
    """Whether only the rows of the API key's own device are allowed."""


Level = Literal["off", "read", "agent", "full"]
"""What `DROVER_ANON` lets the anon key do. Each level includes those before it."""
LEVELS: Final[tuple[Level, ...]] = get_args(Level)


ANON_DEPTH_MAX: Final = 1
"""How deep the anon key may nest embeds: 1 is enough for an assignment with its job. The limit is low because the rows
of nested embeds multiply."""
ANON_BYTES_MAX: Final = 4 * 1024 * 1024
"""The maximum size of an answer to the anon key."""


class _Rule(msgspec.Struct, frozen=True):
    """One row of the table of permissions."""

    role: Role
    relations: tuple[str, ...]
    verbs: tuple[Verb, ...]
    columns: frozenset[str] | None = None
    own: bool = False
    level: Level = "off"
    """The lowest level of `DROVER_ANON` at which this row applies. Then it replaces rows of lower levels for
    the same role, relation and action."""

    def grants(self) -> Iterator[Grant]:
        for relation in self.relations:
            for verb in self.verbs:
                yield Grant(self.role, relation, verb, self.columns, self.own)


_HEARTBEAT: Final = frozenset({"last_seen_at", "status", "screen_locked", "battery_pct"})
_REPORT: Final = frozenset(
    {
        "status",
        "progress_pct",
        "started_at",
        "completed_at",
        "actual_duration_sec",
        "did_like",
        "did_comment",
        "did_playlist",
        "error_code",
        "error_message",
        "retry_count",
        "run",
        "ad_playing",
        "popup_closed",
        "screenshot_ref",
        "activity_stack",
    }
)
_FARM: Final = ("devices", "pcs", "jobs", "job_assignments")
_QUEUE: Final = ("workers", "tasks", "task_devices")
"""The operations queue's names for PCs, jobs and assignments. Its runners write to these relations."""
_VIEWS: Final = (*_QUEUE, "tasks_event", "execution_logs", "pc_device_summary")
_RENDER: Final = ("render_queue", "aep_compositions", "aep_field_mapping")
_RENDER_VIEWS: Final = (
    "render_queue_audit",
    "renders_event",
    "render_stages",
    "render_stage_ranges",
    "render_workers",
    "render_figures",
)
_GFX_DATA: Final = "render_queue.gfx_data"
"""Permission to see gfx_data itself. Callers who may read the queue, but lack this permission, get null."""
_RENDER_FILES: Final = "render_files"
"""Permission to see rendered files, which show what gfx_data contains."""
EVIDENCE: Final = "evidence"
"""Permission for the pictures that phones send along with a failure. They are no relation of `/rest/v1`."""
PRIVATE_CHANNELS: Final = "private_channels"
"""Permission to listen and broadcast on private channels of Realtime."""
PUBLIC_CHANNELS: Final = "public_channels"
"""Permission to listen and broadcast on public channels of Realtime. All roles have it, but the anon key only if
DROVER_ANON is not `off`."""
_ANALYSES: Final = ("saju_tests", "users", "cleanup_runs", "cleanup_run_tests", "test_ledger")
_ALARMS: Final = ("alarm", "user_info", "alarms_event", "push_subscriptions")
"""The relations of reminders. `alarm` is apart, because it contains users' own texts: of people, only operators and
admins may read it."""
_OPERATIONS: Final = ("alerts", "events", "status", "moments", "dashboard")
"""The relations about operations. `dashboard` is everything that `/api` shows of the read models."""
EXPORTS: Final = "exports"
"""Permission to export all rows of a search as a file. The relation itself must be readable, too."""
_FUNCTIONS: Final = (
    "rpc/claim_task_devices_for_pc",
    "rpc/fail_or_retry_task_device",
    "rpc/complete_task_device",
    "rpc/fn_timeout_tasks_and_task_devices",
    "rpc/why",
)

_SEEN: Final = (*_FARM, *_VIEWS, *_OPERATIONS, *_RENDER, *_RENDER_VIEWS, *_ANALYSES, *_ALARMS[1:], "stream")
"""The relations that admins, operators and viewers may read. Add a new relation here to show it to them."""
_WORKED_ON: Final = (*_FARM, *_QUEUE, *_RENDER)
"""The relations that operators and admins may write."""
_ERRANDS: Final = ("rpc/fail_or_retry_task_device", "rpc/fn_timeout_tasks_and_task_devices", "rpc/clear_render_cache")

TABLE: Final = (
    _Rule(Role.ANON, ("devices", "jobs", "job_assignments"), (Verb.READ,), level="read"),
    _Rule(Role.ANON, (PUBLIC_CHANNELS,), (Verb.CONNECT,), level="read"),
    _Rule(Role.ANON, ("devices",), (Verb.UPDATE,), _HEARTBEAT, level="agent"),
    _Rule(Role.ANON, ("job_assignments",), (Verb.UPDATE,), _REPORT, level="agent"),
    _Rule(Role.ANON, ("agent",), (Verb.CONNECT,), level="agent"),
    _Rule(Role.ANON, (EVIDENCE,), (Verb.CREATE,), level="agent"),
    _Rule(Role.ANON, ("devices", "jobs", "job_assignments"), (Verb.CREATE,), level="full"),
    _Rule(Role.ANON, ("devices", "jobs"), (Verb.UPDATE,), level="full"),
    _Rule(Role.DEVICE, ("jobs",), (Verb.READ,)),
    _Rule(Role.DEVICE, ("devices", "job_assignments"), (Verb.READ,), own=True),
    _Rule(Role.DEVICE, ("devices",), (Verb.UPDATE,), _HEARTBEAT, own=True),
    _Rule(Role.DEVICE, ("job_assignments",), (Verb.UPDATE,), _REPORT, own=True),
    _Rule(Role.DEVICE, ("agent",), (Verb.CONNECT,), own=True),
    _Rule(Role.DEVICE, (EVIDENCE,), (Verb.CREATE,), own=True),
    _Rule(Role.DEVICE, ("rpc/why",), (Verb.CALL,), own=True),
    _Rule(Role.SERVICE_ROLE, (*_FARM, *_VIEWS, *_OPERATIONS), (Verb.READ,)),
    _Rule(Role.SERVICE_ROLE, (*_FARM, *_QUEUE), (Verb.CREATE, Verb.UPDATE)),
    _Rule(Role.SERVICE_ROLE, _FUNCTIONS, (Verb.CALL,)),
    _Rule(Role.SERVICE_ROLE, (*_RENDER, *_RENDER_VIEWS, _GFX_DATA, _RENDER_FILES), (Verb.READ,)),
    _Rule(Role.SERVICE_ROLE, _RENDER, (Verb.CREATE, Verb.UPDATE)),
    _Rule(Role.SERVICE_ROLE, ("aep_compositions", "aep_field_mapping"), (Verb.DELETE,)),
    _Rule(Role.SERVICE_ROLE, ("rpc/clear_render_cache",), (Verb.CALL,)),
    _Rule(Role.SERVICE_ROLE, _ANALYSES, (Verb.READ,)),
    _Rule(Role.SERVICE_ROLE, ("saju_tests", "users"), (Verb.CREATE, Verb.UPDATE)),
    _Rule(Role.SERVICE_ROLE, ("cleanup_runs",), (Verb.CREATE,)),
    _Rule(Role.SERVICE_ROLE, _ALARMS, (Verb.READ,)),
    _Rule(Role.SERVICE_ROLE, ("alarm", "user_info"), (Verb.CREATE, Verb.UPDATE, Verb.DELETE)),
    _Rule(Role.SERVICE_ROLE, ("reminder_sending",), (Verb.UPDATE,)),
    _Rule(Role.SERVICE_ROLE, ("agent",), (Verb.CONNECT,)),
    _Rule(Role.SERVICE_ROLE, (EVIDENCE,), (Verb.CREATE, Verb.READ)),
    _Rule(Role.SERVICE_ROLE, ("stream",), (Verb.READ,)),
    *(_Rule(role, (PRIVATE_CHANNELS,), (Verb.CONNECT,)) for role in (Role.SERVICE_ROLE, Role.OPERATOR, Role.ADMIN)),
    *(_Rule(role, (PUBLIC_CHANNELS,), (Verb.CONNECT,)) for role in Role if role is not Role.ANON),
    *(_Rule(role, _SEEN, (Verb.READ,)) for role in PEOPLE),
    *(_Rule(role, (EVIDENCE,), (Verb.READ,)) for role in PEOPLE),
    *(_Rule(role, (EXPORTS,), (Verb.READ,)) for role in (*PEOPLE, Role.SERVICE_ROLE)),
    *(_Rule(role, ("rpc/why",), (Verb.CALL,)) for role in PEOPLE),
    *(_Rule(role, ("me",), (Verb.READ, Verb.UPDATE, Verb.DELETE)) for role in PEOPLE),
    *(_Rule(role, _WORKED_ON, (Verb.CREATE, Verb.UPDATE)) for role in (Role.OPERATOR, Role.ADMIN)),
    *(_Rule(role, _ERRANDS, (Verb.CALL,)) for role in (Role.OPERATOR, Role.ADMIN)),
    *(_Rule(role, ("alerts",), (Verb.UPDATE,)) for role in (Role.OPERATOR, Role.ADMIN)),
    *(_Rule(role, (_GFX_DATA, _RENDER_FILES), (Verb.READ,)) for role in (Role.OPERATOR, Role.ADMIN)),
    *(_Rule(role, ("aep_compositions", "aep_field_mapping"), (Verb.DELETE,)) for role in (Role.OPERATOR, Role.ADMIN)),
    *(_Rule(role, ("alarm",), (Verb.READ,)) for role in (Role.OPERATOR, Role.ADMIN)),
    *(_Rule(role, ("cleanup_runs",), (Verb.CREATE,)) for role in (Role.OPERATOR, Role.ADMIN)),
    *(_Rule(role, ("reminder_sending",), (Verb.UPDATE,)) for role in (Role.OPERATOR, Role.ADMIN)),
    _Rule(Role.ADMIN, ("accounts",), (Verb.READ, Verb.CREATE, Verb.UPDATE)),
    _Rule(Role.ADMIN, ("sessions",), (Verb.READ, Verb.DELETE)),
    _Rule(Role.ADMIN, ("keys",), (Verb.READ, Verb.CREATE, Verb.UPDATE, Verb.DELETE)),
    _Rule(Role.ADMIN, ("audit",), (Verb.READ,)),
    _Rule(Role.ADMIN, ("erasures",), (Verb.CREATE,)),
    _Rule(Role.ADMIN, ("users",), (Verb.CREATE, Verb.UPDATE)),
    _Rule(Role.AUTHENTICATED, ("me",), (Verb.READ,)),
    *(_Rule(role, ("my_tests",), (Verb.READ, Verb.CREATE)) for role in (*PEOPLE, Role.AUTHENTICATED)),
    *(
        _Rule(role, ("my_alarms",), (Verb.READ, Verb.CREATE, Verb.UPDATE, Verb.DELETE))
        for role in (*PEOPLE, Role.AUTHENTICATED)
    ),
)


_ANON_RULES: Final = sorted(
    (rule for rule in TABLE if rule.role is Role.ANON), key=lambda rule: LEVELS.index(rule.level)
)


def _by_action(rules: Iterable[_Rule]) -> dict[tuple[Role, str, Verb], Grant]:
    grants = [grant for rule in rules for grant in rule.grants()]
    by_action = {(grant.role, grant.relation, grant.verb): grant for grant in grants}
    assert len(by_action) == len(grants), "a grant is in the table twice"
    return by_action


class Permissions:
    """The table of permissions, with this process's settings applied."""

    def __init__(self, *, anon: Level = "agent", anon_may_create_jobs: bool = False) -> None:
        """`anon_may_create_jobs`: lets the anon key create jobs at the level `agent`, too, and not only at `full`."""
        self._grants: dict[tuple[Role, str, Verb], Grant] = {}
        for level in LEVELS[: LEVELS.index(anon) + 1]:
            self._grants |= _by_action(rule for rule in TABLE if rule.level == level)
        if anon_may_create_jobs and anon == "agent":
            self._grants |= _by_action([_Rule(Role.ANON, ("jobs",), (Verb.CREATE,))])

    @classmethod
    def of(cls, settings: Settings) -> Permissions:
        return cls(anon=settings.anon_level, anon_may_create_jobs=settings.anon_may_create_jobs)

    def demand(self, principal: Principal, relation: str, verb: Verb) -> Grant:
        """Return the grant of a role for an action on a relation. Raises 403 if there is none."""
        grant = self._grants.get((principal.role, relation, verb))
        if grant is None:
            raise _denied(f"permission denied for table {relation}", principal.role, relation, verb)
        return grant

    def may(self, principal: Principal, relation: str, verb: Verb) -> bool:
        return (principal.role, relation, verb) in self._grants

    def anon_may(self, relation: str, verb: Verb) -> bool:
        """Whether the anon key, which is in every phone, may do this."""
        return (Role.ANON, relation, verb) in self._grants

    def sight(self, principal: Principal, relations: Mapping[str, Relation]) -> Sight:
        """Return the relations that the caller may read, with the columns and values that limit a device to its own
        rows."""
        seen: dict[str, Relation] = {}
        only: dict[str, dict[str, str]] = {}
        for name, relation in relations.items():
            grant = self._grants.get((principal.role, name, Verb.READ))
            if grant is None:
                continue
            if grant.own:
                assert principal.device_id is not None
                assert relation.owner is not None, f"{name} does not say which device owns a row"
                only[name] = {relation.owner: principal.device_id}
            seen[name] = relation
        if principal.role is Role.ANON:
            return Sight(seen, only, depth_max=ANON_DEPTH_MAX, bytes_max=ANON_BYTES_MAX)
        return Sight(seen, only)


def check_columns(grant: Grant, columns: Iterable[str]) -> None:
    """Raise 403 if one of these columns may not be written."""
    if grant.columns is None:
        return
    for column in columns:
        if column not in grant.columns:
            raise _denied(
                f"permission denied for column {column} of table {grant.relation}",
                grant.role,
                grant.relation,
                grant.verb,
                column=column,
            )


def check_own(grant: Grant, principal: Principal, device_id: str) -> None:
    """Raise 403 if the grant is limited to the device of the caller's key, and `device_id` is another device."""
    if grant.own and device_id != principal.device_id:
        raise _denied(
            f"permission denied for table {grant.relation}: this key is bound to another device",
            grant.role,
            grant.relation,
            grant.verb,
            device_id=device_id,
        )


def _denied(message: str, role: Role, relation: str, verb: Verb, **what: str) -> ApiError:
    details = {"role": role, "relation": relation, "verb": verb, **what}
    hint = _anon_hint(relation, verb, what.get("column")) if role is Role.ANON else None
    return ApiError(403, "42501", message, details=details, hint=hint)


def _anon_hint(relation: str, verb: Verb, column: str | None) -> str | None:
    """Return a hint that names the level of `DROVER_ANON` at which the anon key may do this. None: it may not at any
    level."""
    for rule in _ANON_RULES:
        is_meant = relation in rule.relations and verb in rule.verbs
        if is_meant and (column is None or rule.columns is None or column in rule.columns):
            return (
                f"The anon key may do this only with DROVER_ANON={rule.level}, which is for networks of your own."
                " Or use another key: let the phones enrol (`drover key enrol`) and the back office the"
                " service key, or sign in."
            )
    return None


_plain: Final = Permissions(anon="off")
demand: Final = _plain.demand
"""Check a permission of any role except anon, whose permissions depend on settings: here it has none. To check it, too,
use `Permissions.of(settings).demand`."""
may: Final = _plain.may
