"""The audit of dependencies: what it finds, and what it says when it cannot look."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from tools import dependency_audit
from tools.dependency_audit import ask, is_affected, look_up, main, pinned
from tools.pins import Package

SOUND, BAD = Package("npm", "sound", "1.0.0"), Package("PyPI", "bad", "2.0.0")
NOBODY = "http://127.0.0.1:1"


def record(id, name, ecosystem, *events, **more):
    ranges = [{"type": "SEMVER" if ecosystem == "npm" else "ECOSYSTEM", "events": list(events)}]
    return {"id": id, "affected": [{"package": {"name": name, "ecosystem": ecosystem}, "ranges": ranges}]} | more


BAD_UNTIL_3 = record("PYSEC-1", "bad", "PyPI", {"introduced": "0"}, {"fixed": "3.0"})
SOUND_SINCE_1 = record("GHSA-1", "sound", "npm", {"introduced": "0"}, {"fixed": "1.0.0"})


@contextmanager
def server(pages: dict[str, dict]) -> Iterator[str]:
    """Answers as OSV does: `pages` by package URL and page."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            queries = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
            asked = [query["package"]["purl"] + query.get("page_token", "") for query in queries]
            body = json.dumps({"results": [pages.get(one, {}) for one in asked]}).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as one:
        thread = Thread(target=one.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{one.server_port}"
        finally:
            one.shutdown()
            thread.join()


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(dependency_audit, "pinned", lambda: {SOUND, BAD})


@pytest.fixture
def advisories(tmp_path):
    (tmp_path / "PYSEC-1.json").write_text(json.dumps(BAD_UNTIL_3))
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("GHSA-1.json", json.dumps(SOUND_SINCE_1))
    return tmp_path


@pytest.mark.parametrize(
    ("version", "events", "affected"),
    [
        ("2.9.9", [{"introduced": "0"}, {"fixed": "3.0"}], True),
        ("3.0", [{"introduced": "0"}, {"fixed": "3.0"}], False),
        ("2.10.0", [{"introduced": "2.2"}, {"fixed": "2.9"}], False),
        ("1.5", [{"introduced": "1.0"}, {"last_affected": "1.5"}], True),
        ("1.6", [{"introduced": "1.0"}, {"last_affected": "1.5"}], False),
        ("2.1", [{"introduced": "0"}, {"fixed": "1.0"}, {"introduced": "2.0"}, {"fixed": "2.2"}], True),
        ("1.1", [{"introduced": "2.0"}, {"fixed": "2.2"}, {"introduced": "0"}, {"fixed": "1.0"}], False),
        ("3.0.0-canary-a1", [{"introduced": "0"}, {"fixed": "3.0.0"}], True),
        ("7", [{"introduced": "0"}], True),
    ],
)
def test_a_version_is_affected_if_it_lies_within_a_range(version, events, affected):
    assert is_affected(Package("npm", "x", version), {"ranges": [{"type": "SEMVER", "events": events}]}) is affected


def test_a_version_that_is_listed_is_affected_and_commits_of_git_are_no_versions():
    assert is_affected(BAD, {"versions": ["1.0", "2.0.0"]})
    assert not is_affected(BAD, {"ranges": [{"type": "GIT", "events": [{"introduced": "0"}, {"fixed": "ab12"}]}]})


def test_records_of_a_folder_are_looked_up(advisories):
    assert look_up(advisories, [SOUND, BAD]) == {BAD: {"PYSEC-1"}}


def test_a_record_that_was_withdrawn_counts_no_more(advisories):
    withdrawn = BAD_UNTIL_3 | {"withdrawn": "2026-01-01T00:00:00Z"}
    (advisories / "PYSEC-1.json").write_text(json.dumps(withdrawn))
    (advisories / "PYSEC-2.json").write_text(json.dumps(record("PYSEC-2", "other", "PyPI", {"introduced": "0"})))
    assert look_up(advisories, [SOUND, BAD]) == {}


def test_the_server_is_asked_for_all_pages():
    first = {"vulns": [{"id": "A"}], "next_page_token": "2"}
    with server({BAD.purl: first, f"{BAD.purl}2": {"vulns": [{"id": "B"}]}}) as url:
        assert ask(url, [SOUND, BAD]) == {BAD: {"A", "B"}}


def test_what_is_found_is_named_and_fails_unless_it_is_accepted(few, advisories, capsys):
    assert main(["--advisories", str(advisories)]) == 1
    assert "pkg:pypi/bad@2.0.0: PYSEC-1\n2 pinned packages, 1 with known" in capsys.readouterr().out
    assert main(["--advisories", str(advisories), "--accept", "PYSEC-1"]) == 0
    assert "2 pinned packages, 0 with known" in capsys.readouterr().out


def test_without_data_it_says_that_it_did_not_look_and_fails_only_where_it_must(few, capsys):
    assert main(["--server", NOBODY]) == 0
    said = capsys.readouterr().out
    assert "NOT complete" in said and NOBODY in said and "--advisories" in said
    assert "known vulnerabilities" not in said
    assert main(["--server", NOBODY, "--required"]) == 1


def test_a_folder_that_is_not_there_fails_the_audit(few, tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["--advisories", str(tmp_path / "mistyped")])
    assert "there is no folder" in capsys.readouterr().err


def test_data_about_a_part_of_the_packages_is_no_whole_audit(few, advisories, capsys):
    (advisories / "all.zip").unlink()
    assert main(["--advisories", str(advisories), "--accept", "PYSEC-1"]) == 0
    assert "no records of OSV about npm" in capsys.readouterr().out
    assert main(["--advisories", str(advisories), "--accept", "PYSEC-1", "--required"]) == 1
    assert main(["--advisories", str(advisories)]) == 1, "what was found counts"


def test_all_lock_files_of_the_repository_are_read():
    names = {(one.ecosystem, one.name) for one in pinned()}
    for expected in (("PyPI", "aiohttp"), ("PyPI", "ruff"), ("npm", "react"), ("npm", "@supabase/supabase-js")):
        assert expected in names
