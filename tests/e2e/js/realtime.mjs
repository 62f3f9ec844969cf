// Realtime by the real supabase-js: one channel a step. Prints one JSON line for each thing that it hears; the test
// writes the rows. Subscribes to what SUBSCRIBE says: [{name, key?, options?, changes: [{event, table, filter}]}].
import { createInterface } from "node:readline";
import { createClient } from "@supabase/supabase-js";
import ws from "ws";

const { DROVER_URL, DROVER_VSN } = process.env;
const realtime = { transport: ws, ...(DROVER_VSN ? { vsn: DROVER_VSN } : {}) };
const options = { auth: { persistSession: false, autoRefreshToken: false }, realtime };
const say = (what) => console.log(JSON.stringify(what));

const clients = new Map();
const channels = new Map();
const client = (key) => {
  if (!clients.has(key)) clients.set(key, createClient(DROVER_URL, key, options));
  return clients.get(key);
};

const commands = {
  subscribe({ name, topic, key, config, changes = [], presence = false, broadcast = [] }) {
    const channel = client(key).channel(topic ?? name, config ? { config } : undefined);
    channels.set(name, channel);
    for (const change of changes) {
      channel.on("postgres_changes", { schema: "public", ...change }, ({ eventType, table, ...rest }) =>
        say({ channel: name, heard: eventType, table, filter: change.filter ?? null, ...rest }),
      );
    }
    for (const event of broadcast) {
      channel.on("broadcast", { event }, ({ event: told, payload }) =>
        say({
          channel: name,
          heard: "broadcast",
          event: told,
          payload: payload instanceof ArrayBuffer ? { bytes: [...new Uint8Array(payload)] } : payload,
        }),
      );
    }
    if (presence) {
      channel.on("presence", { event: "sync" }, () => say({ channel: name, heard: "sync", state: channel.presenceState() }));
      channel.on("presence", { event: "join" }, ({ key }) => say({ channel: name, heard: "join", key }));
      channel.on("presence", { event: "leave" }, ({ key }) => say({ channel: name, heard: "leave", key }));
    }
    channel.on("system", {}, ({ status, message, extension }) =>
      say({ channel: name, heard: "system", status, message, extension }),
    );
    channel.subscribe((status, error) =>
      say({ channel: name, status, ...(error ? { error: error.message, cause: error.cause?.reason ?? null } : {}) }),
    );
  },
  async send({ name, event, payload, bytes }) {
    const said = bytes ? new Uint8Array(bytes).buffer : payload;
    say({ channel: name, sent: await channels.get(name).send({ type: "broadcast", event, payload: said }) });
  },
  async httpSend({ name, event, payload, bytes }) {
    const said = bytes ? new Uint8Array(bytes).buffer : payload;
    say({ channel: name, sent: await channels.get(name).httpSend(event, said) });
  },
  async track({ name, payload }) {
    say({ channel: name, tracked: await channels.get(name).track(payload) });
  },
  async untrack({ name }) {
    say({ channel: name, untracked: await channels.get(name).untrack() });
  },
  async setAuth({ key, token }) {
    await client(key).realtime.setAuth(token);
  },
  async signIn({ key, email, password }) {
    const { error } = await client(key).auth.signInWithPassword({ email, password });
    say({ channel: null, signedIn: error === null });
  },
  async signOut({ key }) {
    const { error } = await client(key).auth.signOut();
    say({ channel: null, signedOut: error === null });
  },
  async leave({ name, key }) {
    say({ channel: name, left: await client(key).removeChannel(channels.get(name)) });
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { do: command, ...what } = JSON.parse(line);
  Promise.resolve(commands[command](what)).catch((error) => say({ failed: command, error: String(error) }));
}
process.exit(0);
