"""`drover jobs`: its commands, options and help. What they do is in `drover.cli.operations.jobs`."""

from __future__ import annotations

from typing import Any, Final

import click

from drover.cli.examples import examples
from drover.cli.moments import ComingMoment
from drover.cli.operation_options import (
    devices_argument,
    job_argument,
    jobs_argument,
    limit_option,
    status_option,
    watch_option,
    yes_option,
)
from drover.cli.operations.statuses import ASSIGNMENTS, JOBS
from drover.cli.options import Number, json_option
from drover.cli.server_options import server_options

SCRIPTS: Final = ("youtube_watch", "youtube_shorts", "youtube_subscribe")
PRIORITY_MAX: Final = 100
percent: Final = Number(0, 100)
priority: Final = Number(-PRIORITY_MAX, PRIORITY_MAX)


@click.group(
    epilog=examples(
        "drover jobs list --status open --watch",
        "drover jobs create https://youtu.be/abc --title Launch --group P1-G1",
        "drover jobs pause 0199a1b2-4c3d",
    )
)
def jobs() -> None:
    """List, create and change jobs.

    A job is named by its id, or by the beginning of its id.
    """


@jobs.command(
    name="list",
    epilog=examples(
        "drover jobs list",
        "drover jobs list --status open --watch",
        "drover jobs list --status cancelled --status expired --limit 100 --json",
    ),
)
@status_option(JOBS, has_open=True)
@limit_option
@watch_option
@json_option
@server_options
def list_(**options: Any) -> None:
    """List jobs, newest first."""
    from drover.cli.operations.jobs import list_ as run

    run(**options)


@jobs.command(epilog=examples("drover jobs show 0199a1b2-4c3d", "drover jobs show 0199a1b2-4c3d --watch"))
@job_argument
@watch_option
@json_option
@server_options
def show(**options: Any) -> None:
    """Show a job with its progress and failures."""
    from drover.cli.operations.jobs import show as run

    run(**options)


@jobs.command(
    epilog=examples(
        "drover jobs assignments 0199a1b2-4c3d --status failed",
        "drover jobs assignments 0199a1b2-4c3d --pc PC-01 --watch",
    )
)
@job_argument
@status_option(ASSIGNMENTS)
@click.option("--pc", metavar="PC", help="Select phones on this PC.")
@limit_option
@watch_option
@json_option
@server_options
def assignments(**options: Any) -> None:
    """List the assignments of a job, oldest first.

    An assignment is a job on one phone.
    """
    from drover.cli.operations.jobs import assignments as run

    run(**options)


@jobs.command(
    epilog=examples(
        "drover jobs create https://youtu.be/abc --title Launch",
        "drover jobs create https://youtu.be/abc --group P1-G1 --count 50",
        "drover jobs create https://youtu.be/abc --phone R58M00001 --paused",
        "drover jobs create https://youtu.be/abc --priority 10 --not-before 2h",
        "JOB=$(drover jobs create https://youtu.be/abc)",
    )
)
@click.argument("target_url", metavar="URL", help="The address of the video.")
@click.option("--title", metavar="TITLE", help="What people call the job.")
@click.option(
    "--script",
    type=click.Choice(SCRIPTS),
    metavar="SCRIPT",
    help=f"What the phones do: {', '.join(SCRIPTS)}.",
    show_default=SCRIPTS[0],
)
@click.option(
    "--duration",
    type=(Number(10, 100), Number(10, 100)),
    metavar="MIN MAX",
    help="How much of the video a phone plays, in percent.",
    show_default="30 90",
)
@click.option("--like", type=percent, metavar="PERCENT", help="The probability of a like.", show_default="50")
@click.option("--comment", type=percent, metavar="PERCENT", help="The probability of a comment.", show_default="30")
@click.option("--playlist", type=percent, metavar="PERCENT", help="The probability of a save.", show_default="10")
@click.option(
    "--reward", type=click.FloatRange(0), metavar="REWARD", help="The base reward of the job.", show_default="10"
)
@click.option("--group", metavar="GROUP", help="Only for phones of this group, such as P1-G1.")
@click.option("--pc", metavar="PC", help="Only for phones on this PC.")
@click.option(
    "--phone",
    "devices",
    multiple=True,
    metavar="PHONE",
    help="Only for this phone, by serial number or id. Repeat it for more.",
)
@click.option("--count", "device_count", type=Number(1), metavar="N", help="For at most N phones.")
@click.option(
    "--priority",
    type=priority,
    metavar="N",
    help="Of the jobs that wait, those with a higher priority go first, then the oldest.",
    show_default="0",
)
@click.option(
    "--not-before",
    type=ComingMoment(),
    metavar="TIME",
    help="Let it wait: 2h (in two hours) or 2026-01-31T08:00, at most 30 days ahead.",
)
@click.option("--paused", is_flag=True, help="Create it paused. `drover jobs resume` puts it into the queue.")
@json_option
@server_options
def create(**options: Any) -> None:
    """Create a job and print its id.

    Without --group, --pc, --phone and --count it is for all phones.
    """
    from drover.cli.operations.jobs import create as run

    run(**options)


@jobs.command(epilog=examples("drover jobs pause 0199a1b2-4c3d"))
@jobs_argument
@json_option
@server_options
def pause(**options: Any) -> None:
    """Pause jobs. Pending work is taken back; running work finishes."""
    from drover.cli.operations.jobs import pause as run

    run(**options)


@jobs.command(epilog=examples("drover jobs resume 0199a1b2-4c3d"))
@jobs_argument
@json_option
@server_options
def resume(**options: Any) -> None:
    """Resume jobs that are paused or deactivated.

    A job that was deactivated can be resumed until it is 24 hours old.
    """
    from drover.cli.operations.jobs import resume as run

    run(**options)


@jobs.command(name="next", epilog=examples("drover jobs next 0199a1b2-4c3d"))
@jobs_argument
@json_option
@server_options
def next_(**options: Any) -> None:
    """Put jobs before all others that wait.

    Of several jobs, the first one goes first. The active job is not stopped. Resume a paused job first, and start a
    scheduled one with `drover jobs schedule JOB --now`.
    """
    from drover.cli.operations.jobs import next_ as run

    run(**options)


@jobs.command(epilog=examples("drover jobs prioritize 0199a1b2-4c3d --priority 10"))
@jobs_argument
@click.option(
    "--priority",
    type=priority,
    required=True,
    metavar="N",
    help="The new priority. Higher ones go first, then the oldest.",
)
@json_option
@server_options
def prioritize(**options: Any) -> None:
    """Change the priority of jobs.

    A job that was put first takes the place of its priority again.
    """
    from drover.cli.operations.jobs import prioritize as run

    run(**options)


@jobs.command(
    epilog=examples(
        "drover jobs schedule 0199a1b2-4c3d --at 2h",
        "drover jobs schedule 0199a1b2-4c3d --at 2030-01-31T08:00",
        "drover jobs schedule 0199a1b2-4c3d --now",
    )
)
@jobs_argument
@click.option(
    "--at",
    type=ComingMoment(),
    metavar="TIME",
    help="When they may start: 2h (in two hours) or 2026-01-31T08:00, at most 30 days ahead.",
)
@click.option("--now", "at_once", is_flag=True, help="Let them start as soon as they have their turn.")
@json_option
@server_options
def schedule(**options: Any) -> None:
    """Let jobs wait for a time, or start scheduled jobs now.

    A paused job stays paused. Pause the active job first.
    """
    from drover.cli.operations.jobs import schedule as run

    run(**options)


@jobs.command(
    epilog=examples("drover jobs cancel 0199a1b2-4c3d", "drover jobs cancel 0199a1b2-4c3d 0199a1b2-5e6f --yes")
)
@jobs_argument
@yes_option
@json_option
@server_options
def cancel(**options: Any) -> None:
    """Cancel jobs for good.

    Pending assignments are cancelled; running ones finish.
    """
    from drover.cli.operations.jobs import cancel as run

    run(**options)


@jobs.command(epilog=examples("drover jobs deactivate 0199a1b2-4c3d --yes"))
@jobs_argument
@yes_option
@json_option
@server_options
def deactivate(**options: Any) -> None:
    """Deactivate jobs.

    Pending assignments are cancelled; running ones finish. `drover jobs resume` opens a job again for all phones that
    have not completed it, until it is 24 hours old.
    """
    from drover.cli.operations.jobs import deactivate as run

    run(**options)


@jobs.command(
    name="run-again",
    epilog=examples("drover jobs run-again 0199a1b2-4c3d", "drover jobs run-again 0199a1b2-4c3d --failed"),
)
@job_argument
@click.option("--failed", is_flag=True, help="Only on the phones on which it failed.")
@json_option
@server_options
def run_again(**options: Any) -> None:
    """Create a new job like one that has ended, and print its id."""
    from drover.cli.operations.jobs import run_again as run

    run(**options)


@jobs.command(epilog=examples("drover jobs retry 0199a1b2-4c3d", "drover jobs retry 0199a1b2-4c3d R58M00001 R58M00002"))
@job_argument
@click.argument("devices", nargs=-1, metavar="[PHONE]...", help="Only these phones, by serial number or id.")
@json_option
@server_options
def retry(**options: Any) -> None:
    """Repeat a job on phones on which it failed.

    The job must be open, and the phones must have attempts left.
    """
    from drover.cli.operations.jobs import retry as run

    run(**options)


@jobs.command(epilog=examples("drover jobs assign 0199a1b2-4c3d R58M00001 R58M00002"))
@job_argument
@devices_argument
@json_option
@server_options
def assign(**options: Any) -> None:
    """Assign phones to a job by name, whatever its target is."""
    from drover.cli.operations.jobs import assign as run

    run(**options)


@jobs.command(epilog=examples("drover jobs unassign 0199a1b2-4c3d R58M00001 --yes"))
@job_argument
@devices_argument
@yes_option
@json_option
@server_options
def unassign(**options: Any) -> None:
    """Cancel the pending assignments of phones.

    A running assignment cannot be cancelled; it finishes.
    """
    from drover.cli.operations.jobs import unassign as run

    run(**options)
