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


class Grant(msgspec.Struct, frozen=True):
    """What a role may do with one relation, and with which limits."""

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
_PRIVATE_CHANNELS: Final = "private_channels"
"""Permission to listen and broadcast on private channels of Realtime. Everybody with a key may use public ones."""
_ANALYSES: Final = ("saju_tests", "users", "cleanup_runs", "cleanup_run_tests", "test_ledger")
_ALARMS: Final = ("alarm", "user_info", "alarms_event", "push_subscriptions")
"""The relations of reminders. `alarm` contains users' own texts, so only roles that support the users may read it."""
_OPERATIONS: Final = ("alerts", "events", "status", "moments", "dashboard")
"""The relations about operations. `dashboard` is everything that `/api` shows of the read models."""
_FUNCTIONS: Final = (
    "rpc/claim_task_devices_for_pc",
    "rpc/fail_or_retry_task_device",
    "rpc/complete_task_device",
    "rpc/fn_timeout_tasks_and_task_devices",
    "rpc/why",
)

_SEEN: Final = (*_FARM, *_VIEWS, *_OPERATIONS, *_RENDER, *_RENDER_VIEWS, *_ANALYSES, *_ALARMS[1:], "stream")
"""The relations that people of any role may read. Add a new relation here to show it to people."""
_WORKED_ON: Final = (*_FARM, *_QUEUE, *_RENDER)
"""The relations that operators may write."""
_ERRANDS: Final = ("rpc/fail_or_retry_task_device", "rpc/fn_timeout_tasks_and_task_devices", "rpc/clear_render_cache")

TABLE: Final = (
    _Rule(Role.ANON, ("devices", "jobs", "job_assignments"), (Verb.READ,), level="read"),
    _Rule(Role.ANON, ("devices",), (Verb.UPDATE,), _HEARTBEAT, level="agent"),
    _Rule(Role.ANON, ("job_assignments",), (Verb.UPDATE,), _REPORT, level="agent"),
    _Rule(Role.ANON, ("agent",), (Verb.CONNECT,), level="agent"),
    _Rule(Role.ANON, ("devices", "jobs", "job_assignments"), (Verb.CREATE,), level="full"),
    _Rule(Role.ANON, ("devices", "jobs"), (Verb.UPDATE,), level="full"),
    _Rule(Role.DEVICE, ("jobs",), (Verb.READ,)),
    _Rule(Role.DEVICE, ("devices", "job_assignments"), (Verb.READ,), own=True),
    _Rule(Role.DEVICE, ("devices",), (Verb.UPDATE,), _HEARTBEAT, own=True),
    _Rule(Role.DEVICE, ("job_assignments",), (Verb.UPDATE,), _REPORT, own=True),
    _Rule(Role.DEVICE, ("agent",), (Verb.CONNECT,), own=True),
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
    _Rule(Role.SERVICE_ROLE, ("stream",), (Verb.READ,)),
    *(_Rule(role, (_PRIVATE_CHANNELS,), (Verb.CONNECT,)) for role in (Role.SERVICE_ROLE, Role.OPERATOR, Role.ADMIN)),
    *(_Rule(role, _SEEN, (Verb.READ,)) for role in PEOPLE),
    *(_Rule(role, ("rpc/why",), (Verb.CALL,)) for role in PEOPLE),
    *(_Rule(role, ("me",), (Verb.READ, Verb.UPDATE, Verb.DELETE)) for role in PEOPLE),
    *(_Rule(role, _WORKED_ON, (Verb.CREATE, Verb.UPDATE)) for role in (Role.OPERATOR, Role.ADMIN)),
    *(_Rule(role, _ERRANDS, (Verb.CALL,)) for role in (Role.OPERATOR, Role.ADMIN)),
    *(_Rule(role, (_GFX_DATA, _RENDER_FILES), (Verb.READ,)) for role in (Role.OPERATOR, Role.ADMIN)),
    *(_Rule(role, ("aep_compositions", "aep_field_mapping"), (Verb.DELETE,)) for role in (Role.OPERATOR, Role.ADMIN)),
    *(_Rule(role, ("alarm",), (Verb.READ,)) for role in (Role.OPERATOR, Role.ADMIN)),
    *(_Rule(role, ("cleanup_runs",), (Verb.CREATE,)) for role in (Role.OPERATOR, Role.ADMIN)),
    *(_Rule(role, ("reminder_sending",), (Verb.UPDATE,)) for role in (Role.OPERATOR, Role.ADMIN)),
    _Rule(Role.ADMIN, ("accounts",), (Verb.READ, Verb.CREATE, Verb.UPDATE)),
    _Rule(Role.ADMIN, ("sessions",), (Verb.READ, Verb.DELETE)),
    _Rule(Role.ADMIN, ("keys",), (Verb.READ,)),
    _Rule(Role.ADMIN, ("users",), (Verb.CREATE, Verb.UPDATE)),
    _Rule(Role.AUTHENTICATED, ("me",), (Verb.READ,)),
    *(_Rule(role, ("my_tests",), (Verb.READ, Verb.CREATE)) for role in (*PEOPLE, Role.AUTHENTICATED)),
    *(
        _Rule(role, ("my_alarms",), (Verb.READ, Verb.CREATE, Verb.UPDATE, Verb.DELETE))
        for role in (*PEOPLE, Role.AUTHENTICATED)
    ),
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
        return cls(anon=settings.anon, anon_may_create_jobs=settings.anon_may_create_jobs)

    def demand(self, principal: Principal, relation: str, verb: Verb) -> Grant:
        """Return the grant of a role for an action on a relation. Raises 403 if there is none."""
        grant = self._grants.get((principal.role, relation, verb))
        if grant is None:
            raise _denied(f"permission denied for table {relation}", principal.role, relation, verb)
        return grant

    def may(self, principal: Principal, relation: str, verb: Verb) -> bool:
        return (principal.role, relation, verb) in self._grants

    def sight(self, principal: Principal, relations: Mapping[str, Relation]) -> Sight:
        """Return the relations that the caller may read, and for which of them only the rows of its own device."""
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
    """Raise 403 if the grant is limited to the key's own device and this is another one."""
    if grant.own and device_id != principal.device_id:
        raise _denied(
            f"permission denied for table {grant.relation}: this key is bound to another device",
            grant.role,
            grant.relation,
            grant.verb,
            device_id=device_id,
        )


def _denied(message: str, role: Role, relation: str, verb: Verb, **what: str) -> ApiError:
    return ApiError(403, "42501", message, details={"role": role, "relation": relation, "verb": verb, **what})


_plain: Final = Permissions()
demand: Final = _plain.demand
"""Check a permission with the default settings. For a process's own settings, use `Permissions.of`."""
may: Final = _plain.may
