"""The real supabase-js hears what changes: over `drover up`, with the clients' defaults."""

from __future__ import annotations

import pytest

from tests.e2e.realtime_js import CLIENT, listener_on
from tests.node_packages import node_with


@pytest.fixture(scope="session")
def node() -> str:
    return node_with(CLIENT)


@pytest.mark.req("DI-08")
@pytest.mark.parametrize("vsn", ["2.0.0", "1.0.0"])
async def test_supabase_js_hears_devices_that_are_registered_and_that_change(node, platform, http, vsn):
    serial = f"REALTIME{vsn.replace('.', '')}"
    keys = platform.credentials
    async with listener_on(node, platform.url, DROVER_VSN=vsn) as listener:
        await listener.subscribe(
            "farm", keys["service_key"], {"event": "*", "table": "devices", "filter": f"serial_number=eq.{serial}"}
        )
        system = await listener.until(channel="farm", heard="system")
        assert (system["status"], system["message"]) == ("ok", "Subscribed to PostgreSQL")
        assert (await http.register(serial)).status == 201
        heard = await listener.until(heard="INSERT", table="devices")
        assert heard["new"]["serial_number"] == serial
        assert (heard["old"], heard["errors"]) == ({}, None)
        assert (await http.beat(serial)).status == 204
        changed = await listener.until(heard="UPDATE", table="devices")
        assert changed["new"]["id"] == heard["new"]["id"]
        assert changed["old"] == {"id": heard["new"]["id"]}
        (row,) = await http.rows("devices", f"serial_number=eq.{serial}")
        assert changed["new"].keys() == row.keys()
