"""Requests that schemathesis makes up from the OpenAPI document, to all operations, by callers of all kinds.

Answers must be as the document says: a status that it lists, with the content that it describes, and never a 500.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import seed as hypothesis_seed
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
)
from schemathesis.core.failures import FailureGroup

from drover.platform.openapi import openapi_document
from tests.fuzz.reach import ELSEWHERE, Answers, no_answers
from tests.fuzz.target import Caller, Target

OF_STATUS: Final = [not_a_server_error, status_code_conformance]
OF_CONTENT: Final = [content_type_conformance, response_schema_conformance]
ANSWER_S: Final = 20.0
"""More than any answer may take: a writer that is away is waited for that long."""
QUERY_CHARS_MAX: Final = 4_000
"""A longer request line than 16 KiB is refused before it is a request, in plain words."""
STREAM: Final = "text/event-stream"
MODES: Final = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
NOT_SENT: Final = ("Authorization", "apikey", "X-Cron-Secret", "Drover-Min-Position")
"""Headers that are ours to choose: who asks, and a position that never comes, for which each read would wait."""


class Findings(msgspec.Struct):
    """What came of all requests."""

    requests: int = 0
    statuses: Counter[int] = msgspec.field(default_factory=Counter)
    answers: Answers = msgspec.field(default_factory=no_answers)
    faults: dict[str, str] = msgspec.field(default_factory=dict)
    """By operation and kind of fault: the first request that shows it."""

    def count(self, status: int, operation: Any) -> None:
        self.statuses[status] += 1
        self.answers[f"{operation.method.upper()} {operation.path}"][status] += 1


class Interviewer:
    """Sends made-up requests to a target. Synchronous, as schemathesis is."""

    def __init__(self, target: Target, callers: Callable[[], list[Caller]]) -> None:
        self._target = target
        self._callers = callers
        document = msgspec.json.decode(msgspec.json.encode(openapi_document()))
        self._schema = schemathesis.openapi.from_dict(document)
        self._session = requests.Session()
        self.findings = Findings()

    def operations(self) -> Iterator[Any]:
        for found in self._schema.get_all_operations():
            operation = found.ok()
            if operation.definition.raw["operationId"] not in ELSEWHERE:
                yield operation

    def ask_all(self, examples: int, *, seed: int | None = None) -> Findings:
        """Send so many requests of each mode to every operation. `seed` None: the same ones in every run."""
        for operation in self.operations():
            callers = self._callers()
            for mode in MODES:
                if mode is GenerationMode.POSITIVE or _can_be_wrong(operation):
                    self._ask(operation, mode, callers, examples, seed)
        return self.findings

    def _ask(
        self, operation: Any, mode: GenerationMode, callers: list[Caller], examples: int, seed: int | None
    ) -> None:
        def one(case: Any, caller: Caller, replaced: int) -> None:
            assume(len(str(case.query)) < QUERY_CHARS_MAX)
            self._name_what_is_there(case, replaced)
            for name in NOT_SENT:
                case.headers.pop(name, None)
            self._send(case, caller)

        bounded = settings(
            max_examples=examples,
            deadline=None,
            derandomize=seed is None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        asked = given(
            case=operation.as_strategy(generation_mode=mode),
            caller=st.sampled_from(callers),
            replaced=st.integers(0, 40),
        )(one)
        if seed is not None:
            asked = hypothesis_seed(seed)(asked)
        bounded(asked)()

    def _name_what_is_there(self, case: Any, replaced: int) -> None:
        """In every second request, put ids that exist into the path."""
        for parameter in case.path_parameters or {}:
            known = self._target.known_ids(case.operation.path, parameter)
            if known and replaced % 2:
                case.path_parameters[parameter] = known[replaced % len(known)]

    def _send(self, case: Any, caller: Caller) -> None:
        self.findings.requests += 1
        try:
            if _is_stream(case.operation):
                self._open(case, caller)
                return
            headers = dict(caller.headers)  # schemathesis adds its own to them
            response = case.call(base_url=self._target.url, session=self._session, headers=headers, timeout=ANSWER_S)
            self.findings.count(response.status_code, case.operation)
            # Writes at /rest/v1 have a body only if the request prefers one, which OpenAPI cannot say.
            is_empty = case.operation.path.startswith("/rest/v1/") and case.method != "GET" and not response.content
            case.validate_response(response, checks=OF_STATUS if is_empty else OF_STATUS + OF_CONTENT)
        except FailureGroup as group:
            for failure in group.exceptions:
                self._note(case, caller, type(failure).__name__, str(failure))
        except AssertionError as failure:
            self._note(case, caller, type(failure).__name__, str(failure))
        except (requests.Timeout, schemathesis.errors.SchemathesisError) as failure:
            self._note(case, caller, type(failure).__name__, str(failure))

    def _open(self, case: Any, caller: Caller) -> None:
        """A stream has no end: its head must be as the document says."""
        sent = case.as_transport_kwargs(base_url=self._target.url, headers=dict(caller.headers))
        sent.pop("timeout", None)
        with self._session.request(**sent, stream=True, timeout=ANSWER_S) as answer:
            self.findings.count(answer.status_code, case.operation)
            assert str(answer.status_code) in case.operation.definition.raw["responses"], answer.status_code
            assert answer.status_code != 200 or answer.headers["Content-Type"].startswith(STREAM)

    def _note(self, case: Any, caller: Caller, kind: str, text: str) -> None:
        key = f"{case.operation.definition.raw['operationId']}: {kind}: {text.splitlines()[0][:120]}"
        self.findings.faults.setdefault(key, f"{caller.name}: {text}\n{case.as_curl_command()}"[:2000])


def _is_stream(operation: Any) -> bool:
    return STREAM in operation.definition.raw["responses"].get("200", {}).get("content", {})


def _can_be_wrong(operation: Any) -> bool:
    """What takes nothing but a position can only be asked rightly."""
    names = {one.definition["name"] for one in operation.iter_parameters() if "name" in one.definition}
    return bool(names - {*NOT_SENT}) or bool(operation.body)
