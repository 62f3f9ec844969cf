"""What a person reads if the platform is away, refuses, or has nothing by that name."""

from __future__ import annotations

import json
import ssl

import msgspec
import pytest
from click.shell_completion import ShellComplete

from drover.cli import group
from drover.cli.exits import Exit
from drover.cli.operations import client as module
from tests import certificates

ID = "0199a1b2-4c3d-7000-8000-000000000001"
OTHER = "0199a1b2-4c3d-7000-8000-000000000002"
PAGE = {"items": [], "next": None}


def job(id_=ID, title="Launch", **more):
    return {"id": id_, "title": title, "status": "active", **more}


@pytest.mark.parametrize(
    ("status", "body", "code", "says"),
    [
        (400, {"error": "VALIDATION_ERROR", "message": "limit: at most 500"}, Exit.USAGE, "limit: at most 500."),
        (403, {"code": "42501", "message": "denied", "hint": "Sign in"}, Exit.FAILED, "denied. Sign in."),
        (
            401,
            {"error": "TOKEN_EXPIRED", "message": "Expired"},
            Exit.CONFIGURATION,
            "key of DROVER_KEY was not",
        ),
        (409, {"code": "CONFLICT", "message": "Job already completed"}, Exit.FAILED, "Job already completed."),
        (500, {"error": "INTERNAL", "message": "Internal error"}, Exit.DEGRADED, "Internal error."),
        (404, b"<html>nginx</html>", Exit.UNREACHABLE, "another program"),
        (200, b"<html>It works!</html>", Exit.UNREACHABLE, "no JSON"),
    ],
)
def test_a_refusal_is_told_in_the_words_of_the_platform(status, body, code, says, double, drover):
    double.answer("/api/jobs", body, status=status)
    ended, out, err = drover("jobs", "list")
    assert (ended, out) == (code, "")
    assert says in err


@pytest.mark.parametrize("arguments", [("jobs", "list"), ("alarms", "delete", "page-1", "--yes")])
def test_a_redirect_is_no_success(arguments, double, drover):
    """As a proxy answers that sends everybody from http to https."""
    for path in ("/api/jobs", "/rest/v1/alarm"):
        double.answer(path, b"", status=308, headers={"Location": "https://drover.example/"})
    ended, out, err = drover(*arguments)
    assert (ended, out) == (Exit.UNREACHABLE, "")
    assert "308, to https://drover.example/" in err


def test_a_platform_that_is_away_is_named_with_the_source_of_its_address(drover, monkeypatch, closed_port):
    monkeypatch.setenv("DROVER_URL", f"http://127.0.0.1:{closed_port}")
    monkeypatch.setenv("DROVER_KEY", "k")
    code, _, said = drover("jobs", "list")
    assert code == Exit.UNREACHABLE
    assert "Connection refused" in said
    assert "check DROVER_URL" in said


class TestHttps:
    @pytest.fixture
    def tls(self, tmp_path):
        for name, content in zip(("certificate", "key"), certificates.made("127.0.0.1"), strict=True):
            (tmp_path / name).write_bytes(content)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tmp_path / "certificate", tmp_path / "key")
        return context

    @pytest.mark.req("SE-07")
    def test_the_key_is_not_sent_to_a_server_with_an_untrusted_certificate(self, double, drover):
        code, _, said = drover("jobs", "list")
        assert code == Exit.CONFIGURATION
        assert "the certificate is not trusted: self-signed certificate" in said
        assert "SSL_CERT_FILE" in said
        assert double.requests == []


def test_a_request_that_the_platform_asks_to_repeat_is_repeated_as_the_same_command(double, drover, monkeypatch):
    monkeypatch.setattr(module, "RETRY_S_MAX", 1.0)
    double.answer("/rest/v1/jobs", [job()])
    double.answers["/rest/v1/jobs"] = [
        (200, [job()], {}),
        (503, {"code": "NOT_LEADER", "message": "Try again"}, {"Retry-After": "0"}),
        (200, [job(status="paused")], {}),
    ]
    code, out, _ = drover("jobs", "pause", ID)
    assert (code, out) == (Exit.OK, f"Paused “Launch” ({ID}).\n")
    first, second = [headers for method, _, headers, _ in double.requests if method == "PATCH"]
    assert first["Idempotency-Key"] == second["Idempotency-Key"]
    assert first["User-Agent"] == "drover-cli"


def test_a_beginning_that_fits_several_lists_them_by_ids_that_differ(double, drover):
    double.answer("/rest/v1/jobs", [job(), job(OTHER, "Second")])
    code, _, said = drover("jobs", "show", "0199")
    assert code == Exit.USAGE
    assert f"{ID}  “Launch”  active" in said
    assert f"{OTHER}  “Second”" in said
    assert said.endswith("Write more of the one you mean.\n")


def test_an_unknown_serial_number_is_told_with_those_that_are_near(double, drover):
    double.answers["/rest/v1/devices"] = [
        (200, [], {}),
        (200, [], {}),
        (200, [{"id": ID, "serial_number": "R58M0000001", "pc_id": "PC-01", "status": "online"}], {}),
    ]
    code, _, said = drover("devices", "show", "R58M0000002")
    assert code == Exit.NOT_FOUND
    assert "There is no device R58M0000002. Did you mean R58M0000001?" in said


def test_a_job_that_was_scheduled_runs_again_at_once(double, drover):
    id_ = "01902d2a-0000-7000-8000-000000000001"
    known = {"id": id_, "title": "Watch", "status": "completed", "target_url": "https://youtu.be/abc", "priority": 5}
    double.answer("/rest/v1/jobs", [known], [known])
    double.answer(f"/api/jobs/{id_}", {"job": known | {"not_before": "2026-03-02T12:00:00Z"}})
    ended, _, _ = drover("jobs", "run-again", id_)
    assert ended == Exit.OK
    method, _, _, body = double.requests[-1]
    wanted = {"target_url": "https://youtu.be/abc", "title": "Watch", "priority": 5}
    assert (method, msgspec.json.decode(body)) == ("POST", wanted)


def test_what_fails_for_one_of_several_is_told_and_the_others_are_done(double, drover):
    double.answers["/rest/v1/jobs"] = [
        (200, [job()], {}),
        (409, {"code": "CONFLICT", "message": "Job already completed"}, {}),
        (200, [job(OTHER, "Second")], {}),
        (200, [job(OTHER, "Second", is_active=True)], {}),
    ]
    code, out, err = drover("jobs", "pause", ID, OTHER)
    assert code == Exit.FAILED
    assert out == f"Paused “Second” ({OTHER}).\n"
    assert err == f"Error: {ID}: Job already completed.\n"


@pytest.mark.parametrize(
    "command",
    [
        ("jobs", "cancel", ID),
        ("jobs", "deactivate", ID),
        ("jobs", "unassign", ID, "R58"),
        ("renders", "cancel", "1"),
        ("renders", "release", "1"),
        ("compositions", "delete", "bio"),
        ("tests", "fail", ID),
        ("tests", "cleanup"),
        ("alarms", "delete", "p1"),
    ],
)
def test_what_destroys_work_is_not_done_without_a_word(command, double, drover, monkeypatch):
    code, _, said = drover(*command)
    assert code == Exit.USAGE
    assert "--yes" in said
    assert double.requests == []


def test_lists_are_read_page_by_page_and_one_document_is_printed(double, drover):
    double.answers["/api/jobs"] = [
        (200, {"items": [job()], "next": "c1"}, {}),
        (200, {"items": [job(OTHER)], "next": None}, {}),
    ]
    code, out, _ = drover("jobs", "list", "--status", "open", "--status", "paused", "--json")
    assert code == Exit.OK
    assert [row["id"] for row in json.loads(out)] == [ID, OTHER]
    first, second = [path for _, path, _, _ in double.requests]
    assert first == "/api/jobs?limit=20&status=active,created,paused"
    assert "cursor=c1" in second


def test_an_empty_list_says_what_to_do(double, drover):
    double.answer("/api/jobs", PAGE)
    assert drover("jobs", "list")[1] == "No jobs yet. `drover jobs create URL` makes one.\n"
    assert drover("jobs", "list", "--status", "paused")[1] == "No jobs match.\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--data", "["), "not JSON"),
        (("--data", "[]"), "not a JSON object"),
        (("--data", "@nowhere.json"), "nowhere.json of --data cannot be read"),
        (("--field", "name"), "name=value"),
    ],
)
def test_what_is_to_be_drawn_is_checked_before_anything_is_sent(arguments, says, double, drover):
    code, _, said = drover("renders", "request", "bio", *arguments)
    assert code == Exit.USAGE
    assert says in said
    assert double.requests == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_script(shell, drover):
    code, out, _ = drover("completion", shell)
    assert code == Exit.OK
    assert f"_DROVER_COMPLETE={shell}_complete" in out


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (("jo",), {"jobs"}),
        (("jobs", "run"), {"run-again"}),
        (("jobs", "list", "--st"), {"--status"}),
        (("jobs", "list", "--status", "p"), {"paused"}),
        (("why", "x", "--kind", "re"), {"render"}),
    ],
)
def test_a_shell_completes_commands_options_and_states(words, completed):
    root = group.drover
    found = ShellComplete(root, {}, "drover", "_DROVER_COMPLETE").get_completions(list(words[:-1]), words[-1])
    assert {item.value for item in found} == completed
