// A person by the real supabase-js: sign in, read with their token, refresh, verify, sign out. Prints one JSON line for
// each step that it saw; any surprise ends it with an exception.
import assert from "node:assert/strict";
import { createClient } from "@supabase/supabase-js";
import ws from "ws";

const { DROVER_URL, DROVER_ANON_KEY, DROVER_EMAIL, DROVER_PASSWORD } = process.env;
const options = { auth: { persistSession: false, autoRefreshToken: false }, realtime: { transport: ws } };
const client = createClient(DROVER_URL, DROVER_ANON_KEY, options);

const saw = (step, what = null) => console.log(JSON.stringify({ step, what }));
const good = ({ data, error }) => {
  assert.equal(error, null, JSON.stringify(error));
  return data;
};

const refused = await client.auth.signInWithPassword({ email: DROVER_EMAIL, password: "wrong wrong wrong" });
assert.equal(refused.error.code, "invalid_credentials");
saw("refused", { status: refused.error.status, message: refused.error.message });

assert.equal((await client.from("alerts").select("*")).status, 403); // the anon key may not
const { session, user } = good(await client.auth.signInWithPassword({ email: DROVER_EMAIL, password: DROVER_PASSWORD }));
saw("signed in", { email: user.email, role: user.role });

assert.ok(Array.isArray(good(await client.from("alerts").select("*"))));
saw("read");

const refreshed = good(await client.auth.refreshSession()).session;
assert.notEqual(refreshed.refresh_token, session.refresh_token);
saw("refreshed");

const { claims } = good(await client.auth.getClaims());
assert.equal(claims.sub, user.id);
saw("verified", { role: claims.role });

assert.equal((await client.auth.signOut()).error, null);
const over = await client.auth.refreshSession({ refresh_token: refreshed.refresh_token });
saw("over", { code: over.error.code });
