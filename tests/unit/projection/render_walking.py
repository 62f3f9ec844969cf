"""A walk at random through the render queue's decider: what people, workers and the clock may do, in any order."""

from __future__ import annotations

from random import Random
from typing import Any

from drover.domain.decider import Command
from drover.domain.event import Event
from drover.domain.render import RENDER
from drover.domain.render import commands as c
from drover.domain.render.policy import Fault
from drover.domain.render.state import Render, RenderQueue, Status
from drover.testing.scenario import Scenario
from tests.unit.domain.render.world import Hand, request
from tests.unit.projection.alert_walking import handles_an_alert

WORKERS = tuple(f"worker-{number}" for number in range(4))
COMPOSITIONS = ("comp_chips", "comp_clock", "comp_flags")
FAULTS = tuple(Fault)


class RenderWalk:
    """Each step is a command and what followed from it: the events of one commit."""

    def __init__(self, seed: int) -> None:
        self.scenario = Scenario(RENDER)
        self._dice = Random(seed)
        self._made = 0
        self._past: list[Hand] = []

    @property
    def queue(self) -> RenderQueue:
        state: RenderQueue = self.scenario.state
        return state

    def step(self) -> list[Event]:
        """What came of it; often nothing."""
        dice = self._dice.random()
        if dice < 0.15:
            self.scenario.after(seconds=self._dice.choice((*(0.5, 3, 10, 60, 60, 120) * 4, 1801, 1801, 26 * 3600)))
            return list(self.scenario.ticked().decision.events)
        deed = self._people() if dice < 0.3 else self._administer() if dice < 0.4 else self._work()
        return [] if deed is None else list(self.scenario.when(deed).decision.events)

    def _work(self) -> Command:
        """A worker takes something, or goes on with what it has."""
        dice, worker = self._dice, self._dice.choice(WORKERS)
        if self.queue.renders and dice.random() < 0.2:
            return self._external(dice.choice(list(self.queue.renders)))
        held = self.queue.held.get(worker)
        if held is None or dice.random() < 0.02:
            return dice.choice((c.Claim(worker), c.Claim(worker), c.ClaimStop(worker), self._stop(worker)))
        render = self.queue.renders[held]
        hand = Hand(held, render.run, worker)
        if dice.random() < 0.1:
            self._past = [*self._past[-10:], hand]
        if self._past and dice.random() < 0.05:
            return dice.choice(dice.choice(self._past).says())
        return self._goes_on(render, hand)

    def _external(self, render_id: int) -> Command:
        """A worker of the users' own claims it, or writes about it."""
        dice = self._dice
        if render_id not in self.queue.lent:
            return c.ClaimRender(render_id, dice.choice(("own-1", "own-2")))
        status: Any = dice.choice((None, "rendering", "encoding", "uploading", "completed", "failed"))
        return c.ReportWork(
            render_id=render_id,
            status=status,
            progress=dice.choice((None, dice.randrange(101))),
            nexrender_job_id=dice.choice((None, f"job_{dice.randrange(9)}")),
            output_file_path=dice.choice((None, "/nas/theirs.mp4")),
            sha256=dice.choice((None, f"{dice.getrandbits(256):064x}")),
            message="oh",
        )

    def _goes_on(self, render: Render, hand: Hand) -> Command:
        dice = self._dice
        if dice.random() < 0.12:
            return dice.choice((hand.renews(), hand.misses(f"Slot {dice.randrange(9)} - x"), hand.hands_back()))
        if dice.random() < 0.12:
            return hand.fails(dice.choice(FAULTS), f"fault {dice.randrange(99)}")
        if render.status is Status.PREPARING:
            return hand.submits(f"nx-{dice.randrange(99)}")
        if render.status is Status.UPLOADING:
            return hand.completes(sha256=f"{dice.getrandbits(256):064x}")
        stage = dice.choice(("rendering", "encoding"))
        onwards = hand.progresses(min(100, render.progress + dice.randrange(30)), stage)
        return dice.choice((onwards, onwards, hand.has_rendered()))

    def _stop(self, worker: str) -> Command:
        uid = self._dice.choice(sorted(self.queue.stops) or ["nobody's"])
        stop = self.queue.stops.get(uid)
        return c.ReportStopped(0 if stop is None else stop.render_id, uid, worker)

    def _people(self) -> Command:
        dice = self._dice
        known = list(self.queue.renders)
        if not known or dice.random() < 0.6:
            self._made += 1
            return request(dice.choice(COMPOSITIONS), gfx_id=f"gfx-{self._made}", cue_item_id=self._cue())
        if dice.random() < 0.05:
            render = self.queue.renders[dice.choice(known)]
            return c.EraseRender(render.render_id, render.gfx_id)
        command: Any = dice.choice((c.CancelRender, c.ReleaseRender, c.RerunRender, c.RerunRender))
        return command(dice.choice(known))  # type: ignore[no-any-return]

    def _cue(self) -> str | int | None:
        return self._dice.choice((self._made, str(self._made), None))

    def _administer(self) -> Command:
        dice, composition = self._dice, self._dice.choice(COMPOSITIONS)
        mappings = list(self.queue.mappings)
        field = f"Slot {dice.randrange(9)} - name"
        describe = c.DescribeComposition(
            composition, name=dice.choice((None, "A", "B")), template=dice.choice((None, "a.aep"))
        )
        deeds: list[Command] = [
            describe,
            *[c.MapField(composition_id=composition, field_name=field, layer_name=f"Name {dice.randrange(9)}")] * 4,
        ]
        if mappings:
            deeds.append(c.ChangeField(dice.choice(mappings), layer_name=f"Layer {dice.randrange(9)}"))
            deeds.append(c.UnmapField(dice.choice(mappings)))
        if (handled := handles_an_alert(self.queue.alerts, dice, self.scenario.now)) is not None:
            deeds += [handled] * 3
        if dice.random() < 0.1:
            deeds.append(c.RemoveComposition(composition))
        return dice.choice(deeds)
