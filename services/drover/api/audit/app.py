"""Builds the audit: the component that records accesses, and the endpoint that lists them."""

from __future__ import annotations

from typing import Final

from drover.api.audit.listing import AuditList
from drover.api.audit.network_addresses import NetworkAddresses
from drover.api.audit.recording import Recording
from drover.bus.audit import recording
from drover.domain.identity import IDENTITY
from drover.hosting.host import Host
from drover.hosting.service import Assembly
from drover.service.lifecycle import Component, Phase

HANDLERS: Final = (AuditList,)


def assemble(host: Host) -> Assembly:
    addresses = NetworkAddresses.of(host.subject_keys(IDENTITY.context))
    record = Recording(host.bus, addresses).record
    return Assembly(
        handlers=[AuditList(host.pool, host.freshness, addresses, host.audit)],
        # Recording stops after the reactors of this process, which send accesses to it, and before the writer.
        components=[Component("audit recording", Phase.WRITER, recording(host.client, record))],
    )
