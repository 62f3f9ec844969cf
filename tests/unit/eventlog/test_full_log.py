"""Which answers of NATS say for certain that a commit was not stored, because there is no room."""

import base64
from types import SimpleNamespace

import msgspec
import pytest
from nats.errors import TimeoutError as NatsTimeout

from drover.eventlog import jetstream
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Commit, LogFull, Partition
from drover.eventlog.stored import COMMIT_HEADER, EPOCH_HEADER

pytestmark = pytest.mark.req("YR-12")

COMMIT = Commit("c1", 1, b"{}")
FULL = {"error": {"code": 503, "err_code": 10077, "description": "maximum bytes exceeded"}}
NOTHING = {"error": {"code": 404, "err_code": 10037, "description": "no message found"}}
_HEADERS = f"NATS/1.0\r\n{COMMIT_HEADER}: c1\r\n{EPOCH_HEADER}: 1\r\n\r\n".encode()
STORED = {"message": {"seq": 1, "time": "2026-01-01T00:00:00Z", "hdrs": base64.b64encode(_HEADERS).decode()}}


class Script:
    """A client whose requests get these answers, one after the other."""

    def __init__(self, *answers):
        self._answers = list(answers)

    async def request(self, subject, body, **options):
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return SimpleNamespace(data=msgspec.json.encode(answer))


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    monkeypatch.setattr(jetstream, "RETRY_PAUSE_S", 0)


def log_of(*answers):
    return JetStreamLog(Script(*answers), Partition("fleet"))


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (10077, "maximum bytes exceeded"),
        (10077, "maximum messages exceeded"),
        (10023, "insufficient resources"),
        (10002, "resource limits exceeded for account"),
    ],
)
async def test_a_limit_of_the_stream_the_server_or_the_account_is_certain(code, text):
    with pytest.raises(LogFull, match=text):
        await log_of({"error": {"code": 503, "err_code": code, "description": text}}).append(COMMIT, 0)


async def test_a_failure_to_store_is_no_proof_although_it_has_the_same_code():
    failed = {"error": {"code": 503, "err_code": 10077, "description": "no space left on device"}}
    assert await log_of(failed, STORED).append(COMMIT, 0) == 1


async def test_after_a_try_without_an_answer_a_limit_proves_nothing_because_that_try_may_be_stored_later():
    assert await log_of(NatsTimeout(), NOTHING, FULL, NOTHING, FULL, STORED).append(COMMIT, 0) == 1
