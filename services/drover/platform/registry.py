"""The list of all services, in the order in which a process builds them."""

from __future__ import annotations

from typing import Final

from drover.api.app import SERVICE as API
from drover.archiver.app import SERVICE as ARCHIVER
from drover.cleanup.app import SERVICE as CLEANUP
from drover.gateway.app import SERVICE as GATEWAY
from drover.hosting.service import Service
from drover.notifier.app import SERVICE as NOTIFIER
from drover.projector.app import SERVICE as PROJECTOR
from drover.reminder.app import SERVICE as REMINDER
from drover.render.app import SERVICE as RENDER
from drover.render.app import WORKER as RENDER_WORKER
from drover.scheduler.app import SERVICE as SCHEDULER

REGISTRY: Final[dict[str, Service]] = {
    service.name: service
    for service in (SCHEDULER, GATEWAY, RENDER, CLEANUP, REMINDER, NOTIFIER, PROJECTOR, ARCHIVER, API, RENDER_WORKER)
}
