"""What must hold of jobs that devices give up for all others: enough devices said so, each known to be the one it
claims to be. Found out from the commands, without the decider's own counts."""

from drover.domain.event import Event
from drover.domain.fleet import commands as c
from drover.domain.fleet import events as e
from drover.domain.fleet.policy import JobEffect, rule_of


class GivenUp:
    def __init__(self) -> None:
        self._by: dict[str, set[str]] = {}
        """By job, the devices that gave it up since it was opened, as far as they have proved who they are."""

    def see(self, command: c.FleetCommand, events: list[Event], phones: int) -> None:
        """`events`: all that this command led to. `phones`: how many the farm has."""
        for event in events:
            if isinstance(event, e.AttemptFailedFinal) and rule_of(event.code).job is JobEffect.DEACTIVATE:
                if _is_proven(command):
                    self._by.setdefault(event.job_id, set()).add(event.device_id)
            elif isinstance(event, e.JobDeactivated):
                enough = _is_open(command) or len(self._by.get(event.job_id, ())) >= min(2, phones)
                assert event.rule is None or enough, "too few devices ended a job for all"
                self._by.pop(event.job_id, None)
            elif isinstance(event, e.AssignmentReopened):
                self._by.get(event.job_id, set()).discard(event.device_id)
            elif isinstance(event, e.JobNeedAdded):
                assert _is_proven(command), "anybody can narrow a job down"


def _is_open(command: c.FleetCommand) -> bool:
    return isinstance(command, c.Report) and command.farm_is_open


def _is_proven(command: c.FleetCommand) -> bool:
    if not isinstance(command, c.Report):
        return False
    return command.farm_is_open or command.as_device is not None or (command.run is not None and command.names_run)
