"""The users' own programs do what their authors wrote them for, step by step, against a real platform."""

from __future__ import annotations

import pytest

from tests.seeds.programs import DOCUMENTS, HERE, Run, Step, read_steps, run_document

DOCUMENT_S = 230.0


@pytest.fixture(scope="module")
def runs(request, background_loop, tmp_path_factory) -> dict[str, Run]:
    """What the programs of one document said."""
    folder = tmp_path_factory.mktemp("seeds")
    return {run.program: run for run in background_loop.run(run_document(request.param, folder), DOCUMENT_S)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("runs", "program"),
    [(document, program) for document, programs in DOCUMENTS.items() for program in programs],
    ids=[program for programs in DOCUMENTS.values() for program in programs],
    indirect=["runs"],
)
def test_every_step_of_a_program_works(runs, program):
    problems = [*runs[program].problems()]
    assert not problems, "\n".join(problems)


def test_every_program_in_the_folder_is_run():
    files = {file.name for file in HERE.glob("0*") if file.suffix in (".py", ".mjs")}
    assert files == {program for programs in DOCUMENTS.values() for program in programs}


def test_steps_are_read_from_what_a_program_says():
    said = "ok 4.1 creates a job\nsomething else\nFAIL 4.2 polls: 403 permission denied: devices\n"
    assert [*read_steps(said)] == [Step("4.1 creates a job"), Step("4.2 polls", "403 permission denied: devices")]


@pytest.mark.control
@pytest.mark.parametrize(
    ("run", "problem"),
    [
        pytest.param(Run("p", (Step("1 a", "405"),), 0, ""), "FAIL 1 a: 405", id="a step that fails"),
        pytest.param(Run("p", (Step("1 a"),), 1, "broken"), "ended with 1: broken", id="a program that breaks off"),
        pytest.param(Run("p", (Step("1 a"), Step("1 a")), 0, ""), "2 steps are called '1 a'", id="two of one name"),
        pytest.param(Run("p", (), 0, ""), "said nothing", id="a program that says nothing"),
    ],
)
def test_a_run_has_a_problem(run, problem):
    assert [*run.problems()] == [problem]
