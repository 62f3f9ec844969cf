"""The demo: what is certain to be seen in its first three minutes, and jobs that keep most phones busy after that.

One job is ACTIVE at a time and runs once on each phone, so a job for few phones leaves the others idle. So most jobs
are for nine phones in ten, and take three minutes; those for few phones are short. The tenth is missing on purpose: a
job that has its number of phones ends, and waits neither for a phone that is held nor for one that comes back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from random import Random
from typing import Any, Final

from drover.simulator.population import GROUP_SIZE, group_id, pc_id
from drover.simulator.script import DEMO, Cue, Failure, Fault, Range, Scene, Script

SEEN_WITHIN_S: Final = 180.0
"""Within this time after the start, every state is seen."""

FIRST, POISON, THIRD, BRIEF, LONG = (f"simulated-{name}" for name in ("first", "poison", "third", "brief", "clip"))
"""Parts of the URLs of the demo's videos."""

NO_POWER: Final = Fault("no power", every_s=1, lasts_s=(1, 1), stops_agent=True)
NO_NETWORK: Final = Fault("no network", every_s=1, lasts_s=(1, 1), stops_agent=False)
HANGS: Final = Fault("hangs", every_s=1, lasts_s=(1, 1), stops_agent=False, takes_no_offers=True)

SCENES: Final = (
    Scene(FIRST, video_s=(20, 20)),
    Scene(FIRST, failure=Failure("APP_CRASH", "The app closed unexpectedly", 1.0), phones=("P003D004", "P002D011")),
    Scene(FIRST, failure=Failure("OUT_OF_MEMORY", "No memory left for the app", 1.0), phones=("P001D013",)),
    Scene(FIRST, failure=Failure("VIDEO_NETWORK_ERROR", "The stream broke off", 1.0), phones=("D017",), runs=1),
    Scene(POISON, video_s=(20, 20), failure=Failure("E4001", "Unknown error", 1.0)),
    Scene(THIRD, video_s=(90, 90)),
    Scene(BRIEF, video_s=(15, 25)),
)
"""Phones that fail in the first job: two crash until they are in error, one needs a reset, one on each PC is retried.
The second job fails on every phone, and is paused. The third one ends before its PC without power is back, so that no
phone of it has to do this job again. Brief jobs are for few phones."""

CUES: Final = (
    # It takes no offer of the third job, is held for it, and is then offline: jobs wait for a held phone that is heard.
    Cue("P001D007", 45, 150, HANGS),
    Cue("P001D007", 150, 420, NO_NETWORK),
    Cue("PC-05", 75, 215, NO_POWER),
)
PACE_MIN: Final = 0.25
PACE_MAX: Final = 2.0
"""The highest pace. At a higher one faults would come before the first jobs are over, because the platform's delays
before retries do not get shorter."""
BUSY_SHARE: Final = 0.9
"""The share of all phones that most jobs are for."""
BRIEF_EVERY: Final = 6
POISON_EVERY: Final = 15
POISON_PHONES: Final = 12


def demo(pace: float = 1.0) -> Script:
    """Make the script of the demo. `pace`: how many times sooner its faults occur and its videos end. How long a fault
    lasts does not change: the platform takes a minute to notice a silent phone, at any pace."""
    assert PACE_MIN <= pace <= PACE_MAX, pace
    cues = tuple(_sooner(cue, pace) for cue in CUES)
    scenes = tuple(replace(scene, video_s=_faster(scene.video_s, pace)) for scene in SCENES)
    video_s = _faster(DEMO.show.video_s, pace)
    assert video_s is not None
    return replace(
        DEMO,
        show=replace(DEMO.show, video_s=video_s, scenes=scenes),
        cues=cues,
        chance_from_s=max(cue.end_s for cue in cues if cue.who.startswith("PC-")),
    )


def _sooner(cue: Cue, pace: float) -> Cue:
    """Move a cue by as much as the first one of the same PC or phone."""
    first_s = next(other.start_s for other in CUES if other.who == cue.who)
    by_s = first_s - first_s / pace
    return replace(cue, start_s=cue.start_s - by_s, end_s=cue.end_s - by_s)


def _faster(video_s: Range | None, pace: float) -> Range | None:
    return None if video_s is None else (video_s[0] / pace, video_s[1] / pace)


def demo_jobs(pcs: int, phones_per_pc: int, seed: int) -> Iterator[dict[str, Any]]:
    """Generate the jobs of the demo without end. The same arguments give the same jobs."""
    dice = Random(f"{seed} demo jobs")
    many = {"count": max(1, round(BUSY_SHARE * pcs * phones_per_pc))}
    for number in count(1):
        if number == 1:
            yield _job(number, FIRST, dice)
        elif number % POISON_EVERY == 2:
            yield _job(number, POISON, dice, target={"count": min(POISON_PHONES, pcs * phones_per_pc)})
        elif number == 3:
            yield _job(number, THIRD, dice)
        elif number % BRIEF_EVERY == 0:
            yield _job(number, BRIEF, dice, target=_few(pcs, phones_per_pc, dice))
        else:
            yield _job(number, LONG, dice, target=many)


def _few(pcs: int, phones_per_pc: int, dice: Random) -> dict[str, Any]:
    pc, groups = dice.randint(1, pcs), -(-phones_per_pc // GROUP_SIZE)
    group = group_id(pc, dice.randint(1, groups))
    of_pc = {"pc_id": pc_id(pc), "count": max(1, phones_per_pc // 2)}
    return dice.choice([of_pc, {"group_id": group, "count": max(1, min(GROUP_SIZE, phones_per_pc) // 2)}])


def _job(number: int, video: str, dice: Random, **more: Any) -> dict[str, Any]:
    return {
        "title": f"Simulated order {number}",
        "target_url": f"https://www.youtube.com/watch?v={video}-{number:04d}",
        "script_type": dice.choice(["youtube_watch", "youtube_watch", "youtube_shorts"]),
        "duration_min_pct": 90,
        "duration_max_pct": 100,
        "prob_like": dice.randrange(0, 101, 10),
        "prob_comment": dice.randrange(0, 51, 10),
        "prob_playlist": dice.randrange(0, 31, 10),
        **more,
    }
