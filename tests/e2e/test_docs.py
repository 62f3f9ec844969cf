"""Whoever pastes the shell blocks of the README and of docs/ into a terminal, in order, gets what the pages say.

`operations.md` brings the demo up, and later takes it apart. So its first block comes first and the rest last. The
other pages talk to that demo in between, while it grows old enough to have a past. The README has a farm of its own.
Nothing in a block is changed but the ports.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from drover.testing.waiting import eventually
from tests.e2e.client import calling
from tests.e2e.process import free_port
from tests.e2e.shell_blocks import Block, blocks_of
from tests.e2e.shell_session import Failed, Ran, ShellSession

ROOT: Final = Path(__file__).parents[2]
README, README_KO = ROOT / "README.md", ROOT / "README.ko.md"
OPERATIONS: Final = ROOT / "docs" / "operations.md"
PAGES: Final = [README, README_KO, *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS: Final = {page: blocks_of(page) for page in PAGES}

REASONS: Final = {
    "needs Docker",
    "needs Kubernetes",
    "needs servers of your own",
    "takes minutes",
}
"""Why a block may be left out. Every other one is run."""
SEEN_IN_THE_DEMO: Final = (
    *("alerts?kind=eq.poison_job", "alerts?kind=eq.host_silent", "alerts?kind=eq.needs_reset"),
    *("alerts?kind=eq.render_failed", "events?type=eq.JobPaused", "jobs?status=eq.completed"),
    *("events?type=eq.DeviceQuarantined", "events?type=eq.DeviceHeld", "events?type=eq.DeviceWentOffline"),
    *("events?type=eq.RetryScheduled&context=eq.fleet", "job_assignments?status=eq.completed"),
    *("job_assignments?status=eq.failed", "render_queue?status=eq.completed", "render_queue?status=eq.failed"),
    *("saju_tests?status=eq.completed", "saju_tests?status=eq.failed", "cleanup_run_tests?select=*"),
    *("events?type=eq.AlarmSent", "events?type=eq.SendingFailed"),
)
"""Of each of these there is a row when the demo is three minutes old."""
SEEN_S: Final = 200.0
PORTS: Final = re.compile(r"\b808[01]\b")

needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")


def shell_blocks(page: Path) -> list[Block]:
    return [block for block in BLOCKS[page] if block.is_shell]


def run_here(page: Path) -> list[Block]:
    return [block for block in shell_blocks(page) if block.not_run_because is None]


ON_THE_DEMO: Final = [page for page in PAGES if page.parent != ROOT and page != OPERATIONS and run_here(page)]


class Reader:
    """Somebody who follows a page, on ports that are free here."""

    def __init__(self, directory: Path, written: Path, ports: dict[str, str]) -> None:
        directory.mkdir(exist_ok=True)
        self._ports = ports
        self._shell = ShellSession(directory, written)
        self.home = self._shell.home
        self.end = self._shell.end

    def follow(self, *blocks: Block) -> None:
        for block in blocks:
            text = PORTS.sub(lambda port: self._ports[port[0]], block.text)
            try:
                if block.runs_until_ctrl_c:
                    self._shell.start(text, ready="Drover is ready" if " up" in text else r"\S")
                else:
                    check(block, self._shell.run(text))
            except Failed as failure:
                raise AssertionError(f"{block.place}: {failure}") from None


def check(block: Block, ran: Ran) -> None:
    refused = [f"{status} {request}" for status, request in ran.answers if status >= "400" or status == "000"]
    assert not refused, f"{block.place} was refused: {refused}\n{ran}"
    statuses = iter([status for status, _ in ran.answers])
    for promised in block.promised_statuses:
        assert promised in statuses, f"{block.place} promises {block.promised_statuses}, there was {ran.answers}"
    for shown in block.promised_json:
        assert any(alike(shown, printed) for printed in printed_json(ran)), f"{block.place} shows {shown}, not\n{ran}"


def printed_json(ran: Ran) -> list[Any]:
    return [msgspec.json.decode(line) for line in ran.stdout.splitlines() if line.startswith(("{", "["))]


def alike(shown: Any, printed: Any) -> bool:
    """The same fields, down to the first of each list. Their values, and what details say, are those of another day."""
    if isinstance(shown, dict):
        return isinstance(printed, dict) and all(
            name in printed and (name == "data" or alike(shown[name], printed[name])) for name in shown
        )
    if isinstance(shown, list):
        return isinstance(printed, list) and all(alike(*pair) for pair in zip(shown[:1], printed[:1], strict=False))
    return type(shown) is type(printed)


@pytest.fixture(scope="module")
def ports() -> dict[str, str]:
    return {"8080": str(free_port()), "8081": str(free_port())}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("docs")


@pytest.fixture(scope="module")
def operator(directory: Path, ports: dict[str, str]) -> Iterator[Reader]:
    """The reader of `operations.md`, who has started the demo."""
    reader = Reader(directory / "checkout", directory / OPERATIONS.stem, ports)
    try:
        reader.follow(run_here(OPERATIONS)[0])
        yield reader
    finally:
        reader.end()


@pytest.fixture(scope="module")
def demo(operator: Reader) -> Path:
    """The directory that the demo was started in."""
    return operator.home / "drover-operations"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_block_with_commands_is_called_one_and_left_out_for_a_known_reason_only(page):
    unnamed = [block.place for block in BLOCKS[page] if block.has_commands and not block.language]
    assert not unnamed, f"these look like shell, but their fences do not say so: {unnamed}"
    reasons = {block.not_run_because for block in shell_blocks(page)} - {None}
    assert reasons <= REASONS


def test_the_korean_readme_has_the_same_commands():
    assert [block.commands for block in shell_blocks(README_KO)] == [block.commands for block in shell_blocks(README)]
    assert [block.mark for block in shell_blocks(README_KO)] == [block.mark for block in shell_blocks(README)]


@needs_curl
@pytest.mark.slow
def test_the_readme_does_as_printed(operator, directory, ports):
    """With a directory of its own, but while the demo is growing older."""
    reader = Reader(directory / "readme", directory / README.stem, ports)
    try:
        reader.follow(*run_here(README))
    finally:
        reader.end()


@needs_curl
@pytest.mark.parametrize("page", ON_THE_DEMO, ids=lambda page: page.name)
def test_a_page_does_as_printed(page, demo, directory, ports):
    reader = Reader(demo, directory / page.stem, ports)
    try:
        reader.follow(*run_here(page))
    finally:
        reader.end()


async def test_the_demo_has_shown_every_state_when_it_is_three_minutes_old(demo, ports):
    """Here, because this demo has grown old while the pages were read."""
    keys = msgspec.json.decode((demo / ".drover" / "credentials.json").read_bytes())
    async with calling(f"http://127.0.0.1:{ports['8080']}", keys["anon_key"], keys["service_key"]) as http:
        # Jobs of the pages, some with a higher priority, would have their turn before those of the demo.
        of_pages = "or=(title.is.null,title.not.like.Simulated*)&status=in.(created,active,paused)"
        assert (await http.call("PATCH", f"/rest/v1/jobs?{of_pages}", json={"status": "cancelled"})).status in (
            200,
            204,
        )

        async def missing() -> list[str]:
            answers = [(query, await http.get(f"/rest/v1/{query}&limit=1")) for query in SEEN_IN_THE_DEMO]
            return [query for query, answer in answers if answer.json == []]

        async def nothing_missing() -> bool:
            return not await missing()

        with suppress(TimeoutError):
            await eventually(nothing_missing, SEEN_S, every_s=1)
        assert await missing() == []


@needs_curl
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_operations_do_as_printed(operator):
    operator.follow(*run_here(OPERATIONS)[1:])


def test_most_blocks_are_run(capsys):
    once = [page for page in PAGES if page != README_KO]
    run = sum(len(run_here(page)) for page in once)
    marked = sum(len(shell_blocks(page)) for page in once) - run
    with capsys.disabled():
        print(f"\n{run} shell blocks of README.md and docs/ are run, {marked} are marked as not run", end=" ")
    assert run > 2 * marked


@pytest.mark.control
@pytest.mark.parametrize("text", ["echo $NOBODY_SET_THIS", "false", "X=$(false | cat)", "no-such-command"])
def test_a_block_that_fails_is_noticed(text, tmp_path):
    reader = Reader(tmp_path / "checkout", tmp_path / "page", {})
    try:
        with pytest.raises(AssertionError, match=r"page\.md:1"):
            reader.follow(a_block(text))
    finally:
        reader.end()


@pytest.mark.control
def test_an_answer_that_a_page_does_not_promise_is_noticed():
    heartbeat = a_block("# A heartbeat: 204\ncurl …")
    check(heartbeat, Ran("", "answer: 204 PATCH /devices"))
    for status in ("200", "404", "000"):
        with pytest.raises(AssertionError, match=r"page\.md:1"):
            check(heartbeat, Ran("", f"answer: {status} PATCH /devices"))


@pytest.mark.control
def test_output_of_another_form_than_the_page_shows_is_noticed():
    cleanup = a_block('curl …\n# {"message":"Cleanup completed","users_affected":["u1"]}')
    check(cleanup, Ran('{"message":"Cleanup completed","users_affected":[]}', ""))
    for printed in ('{"message":"Cleanup completed"}', '{"message":"Done","users_affected":0}', ""):
        with pytest.raises(AssertionError, match=r"page\.md:1"):
            check(cleanup, Ran(printed, ""))


def a_block(text: str) -> Block:
    return Block(page="page.md", line=1, language="sh", text=text, mark=None, output=None)
