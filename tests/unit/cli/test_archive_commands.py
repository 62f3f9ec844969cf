"""What `drover archive` and `drover events import` say to what they cannot use. No server is needed for any of it."""

from __future__ import annotations

import pytest

from drover.cli.exits import Exit

HEAD = '{"log":{"context":"fleet","partitions":["main"],"after":0,"form":1}}\n'


@pytest.mark.req("EV-06")
@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "the file is empty"),
        (b"hello\n", "cannot be read"),
        (b'{"type":"DeviceRegistered","n":1}\n', "does not begin with the line"),
        (HEAD.encode(), "cut off"),
        (HEAD.replace('"after":0', '"after":9').encode(), "begins after commit 9"),
        (HEAD.encode() + b'{"end":{"commits":1,"events":1,"last":1}}\n', "should end with"),
        (b"\x28\xb5\x2f\xfd not a frame", "log.jsonl"),
        (b"\xff\xfe\x00", "cannot be read"),
    ],
)
def test_a_file_that_is_not_a_whole_log_is_refused_with_a_sentence(drover, tmp_path, content, says):
    (tmp_path / "log.jsonl").write_bytes(content)
    for more in ((), ("--check",)):
        code, out, err = drover("events", "import", "log.jsonl", *more)
        assert (code, out) == (Exit.FAILED, "")
        assert says in err
    assert [path.name for path in tmp_path.iterdir()] == ["log.jsonl"], "nothing was started or made"


def test_an_empty_log_that_is_whole_is_whole(drover, tmp_path):
    (tmp_path / "log.jsonl").write_text(HEAD + '{"end":{"commits":0,"events":0,"last":0}}\n')
    code, out, _ = drover("events", "import", "log.jsonl", "--check")
    assert code == Exit.OK
    assert "fleet up to commit 0" in out


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("archive", "list", "nowhere"), Exit.NOT_FOUND, "no archive in nowhere"),
        (("archive", "verify", "."), Exit.NOT_FOUND, "no archive in ."),
        (("archive", "restore", "."), Exit.NOT_FOUND, "no archive in ."),
        (("events", "grep", "--archive", "."), Exit.NOT_FOUND, "no archive in fleet"),
        (("state", "--archive", "nowhere"), Exit.NOT_FOUND, "no archive in nowhere/fleet"),
        (("events", "import", "nowhere.jsonl"), Exit.USAGE, "does not exist"),
        (("events", "grep", "(", "--archive", "."), Exit.USAGE, "not a regular expression"),
        (("events", "export", "--limit", "0"), Exit.USAGE, "--limit"),
        (("archive", "create", "x", "--up-to", "5"), Exit.USAGE, "name it with --context"),
        (("archive", "create", "x", "--context", "a.b"), Exit.USAGE, "is not a name"),
        (("archive", "create", "x", "--older-than", "soon"), Exit.USAGE, "is not a time"),
        (("archive", "create", "x"), Exit.UNREACHABLE, "No platform found"),
        (("state", "--as-of", "2999-01-01"), Exit.USAGE, "is in the future"),
        (("state", "--context", "nothing"), Exit.USAGE, "nothing"),
        (("reactors", "maybe"), Exit.USAGE, "maybe"),
    ],
)
def test_what_is_asked_wrongly_is_said(drover, arguments, code, says):
    found, out, err = drover(*arguments)
    assert (found, out) == (code, "")
    assert says in err.replace("\n", " ")
