"""Pages of other origins with the real supabase-js in a real browser: a listed one works, another gets nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from tests.browser.person import admin_of
from tests.node_packages import node_with

pytestmark = [pytest.mark.asyncio(loop_scope="package"), pytest.mark.req("SE-14")]

CLIENT: Final = Path(__file__).parents[1] / "e2e" / "js"
LIBRARY: Final = CLIENT / "node_modules" / "@supabase" / "supabase-js" / "dist" / "umd" / "supabase.js"
CALLS: Final = """async ({ url, anon, email, password, serial }) => {
  const options = { auth: { persistSession: false, autoRefreshToken: false } };
  const client = supabase.createClient(url, anon, options);
  const failed = async (call) => call.then((answer) => answer.status, (error) => error.name);
  const seen = {};

  const read = await client.from("devices").select("serial_number", { count: "exact" }).limit(1);
  seen.read = [read.status, read.data?.length ?? 0, read.count];
  const beat = await client.from("devices").update({ battery_pct: 77 }).eq("serial_number", serial);
  seen.beat = beat.status;
  const refused = await client.from("users").select();
  seen.refused = [refused.status, refused.error.code ?? ""];
  const stranger = await supabase.createClient(url, "not.a.key", options).from("devices").select();
  seen.stranger = stranger.status;
  const missing = await client.from("nowhere").delete().eq("id", 1);
  seen.missing = missing.status;

  const wrong = await client.auth.signInWithPassword({ email, password: "wrong wrong wrong" });
  seen.wrong = wrong.error.code ?? wrong.error.name;
  const signed = await client.auth.signInWithPassword({ email, password });
  seen.signed = signed.data.user?.email ?? null;
  seen.alerts = (await client.from("alerts").select()).status;

  seen.cookie = await failed(fetch(`${url}/api/auth/refresh`, { method: "POST" }));
  seen.withCookies = await failed(fetch(`${url}/api/status`, { credentials: "include", headers: { apikey: anon } }));
  seen.stream = await failed(fetch(`${url}/api/stream?relations=devices`, { headers: { apikey: anon } }).then(
    async (answer) => {
      const { value } = await answer.body.getReader().read();
      return { status: new TextDecoder().decode(value).startsWith("retry:") };
    },
  ));
  seen.joined = await new Promise((told) => {
    const channel = client.channel("farm");
    channel.on("postgres_changes", { event: "*", schema: "public", table: "devices" }, () => {});
    channel.subscribe((status) => { told(status); });
  });
  await client.removeAllChannels();
  return seen;
}"""


async def page_at(person, address: str, platform) -> Any:
    """What a page of this address sees of Drover."""
    await person.page.goto(address)
    await person.page.add_script_tag(content=LIBRARY.read_text())
    email, password = admin_of(platform)
    given = {"url": platform.url, "anon": platform.credentials["anon_key"], "email": email, "password": password}
    return await person.page.evaluate(CALLS, given | {"serial": "SIM00001P001D001"})


async def test_supabase_js_works_on_a_page_of_a_listed_origin(person, platform, elsewhere):
    node_with(CLIENT)
    seen = await page_at(person, elsewhere, platform)
    status, rows, count = seen.pop("read")
    assert (status, rows) in ((200, 1), (206, 1))
    assert count > 1, "Content-Range can be read"
    assert seen == {
        "beat": 204,
        "refused": [403, "42501"],
        "stranger": 401,
        "missing": 404,
        "wrong": "invalid_credentials",
        "signed": admin_of(platform)[0],
        "alerts": 200,
        "cookie": "TypeError",
        "withCookies": "TypeError",
        "stream": True,
        "joined": "SUBSCRIBED",
    }


async def test_a_page_of_another_origin_gets_nothing(person, platform, elsewhere):
    node_with(CLIENT)
    seen = await page_at(person, elsewhere.replace("127.0.0.1", "localhost"), platform)
    assert seen == {
        "read": [0, 0, None],
        "beat": 0,
        "refused": [0, ""],
        "stranger": 0,
        "missing": 0,
        "wrong": "AuthRetryableFetchError",
        "signed": None,
        "alerts": 0,
        "cookie": "TypeError",
        "withCookies": "TypeError",
        "stream": "TypeError",
        "joined": "CHANNEL_ERROR",
    }
