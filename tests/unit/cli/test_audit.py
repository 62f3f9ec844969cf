"""`drover audit`, and the record of what is copied with the command line."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from uuid import UUID

import msgspec
import pytest
from nats.errors import NoRespondersError

from drover.api.audit.listing import AuditEntry
from drover.bus.audit import SUBJECT, Access
from drover.cli import audit
from drover.domain.identity.audit import AccessKind

pytestmark = pytest.mark.req("SE-11")


class Platform:
    def __init__(self, *, is_away: bool = False) -> None:
        self.told: list[Access] = []
        self._is_away = is_away

    async def request(self, subject: str, data: bytes, timeout: float) -> object:  # noqa: ASYNC109
        assert subject == SUBJECT
        if self._is_away:
            raise NoRespondersError
        self.told.append(msgspec.json.decode(data, type=Access))
        return SimpleNamespace(data=b"{}")


async def test_a_copy_is_recorded_in_the_name_of_the_user_of_this_machine(monkeypatch, capsys):
    monkeypatch.setattr(audit.getpass, "getuser", lambda: "kim")
    monkeypatch.setattr(audit.socket, "gethostname", lambda: "farm-1")
    monkeypatch.setitem(audit.os.environ, "SSH_CONNECTION", "203.0.113.9 51000 10.0.0.1 22")
    platform = Platform()
    await audit.record_access(platform, AccessKind.EXPORT, "events export --context fleet")
    (access,) = platform.told
    assert (access.by, access.kind, access.what) == ("operator:kim@farm-1", "export", "events export --context fleet")
    assert access.address == "203.0.113.9"
    assert capsys.readouterr().err == ""


async def test_a_copy_goes_on_without_a_record_and_says_so(monkeypatch, capsys):
    monkeypatch.setattr(audit, "RECORD_S", 0.05)
    await audit.record_access(Platform(is_away=True), AccessKind.EXPORT, "archive create fleet")
    assert "This is not in the audit: nobody answers" in capsys.readouterr().err


@pytest.mark.parametrize("said", ["", "nonsense 1 2 3"])
def test_at_the_machine_itself_there_is_no_address(said):
    assert audit._ssh_address({"SSH_CONNECTION": said}) is None


def test_a_table_has_every_entry_and_no_control_characters():
    entry = AuditEntry(
        id=UUID(int=1),
        at=datetime(2026, 11, 17, 12, tzinfo=UTC),
        by="user:kim",
        kind=AccessKind.FILM,
        what="/api/renders/7\x1b[31m",
        address=None,
        user_agent="Firefox on Windows",
        trace_id=None,
    )
    head, line = audit._lines([entry])
    assert head.split() == ["time", "who", "kind", "from", "with", "what"]
    assert "user:kim  film  –     Firefox on Windows  /api/renders/7" in line
    assert "\x1b" not in line
