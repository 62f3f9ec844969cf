// Many clients of the real supabase-js in one process: each has a socket and a channel of its own, counts what it hears
// and how long that took since the row changed. One JSON command a line on stdin, one JSON answer a line on stdout.
import { createInterface } from "node:readline";
import { createClient } from "@supabase/supabase-js";
import ws from "ws";

const { DROVER_URL } = process.env;
const WAVE = 50; // sockets that connect at the same time
const options = {
  auth: { persistSession: false, autoRefreshToken: false },
  realtime: { transport: ws },
};
const say = (what) => console.log(JSON.stringify(what));
const groups = new Map();

// Rows name the moment of their last event. A row that is told without a new event (a sign of life) has no delay, and of an
// UPDATE of a row that was never heard of nobody knows which it is.
const hears = (group, seen) => {
  const fresh = new Map();
  return ({ eventType, table, new: row, commit_timestamp: written }) => {
    const now = Date.now();
    const kind = `${table} ${eventType}`;
    group.heard[kind] = (group.heard[kind] ?? 0) + 1;
    seen.rows += 1;
    if (eventType === "DELETE") return;
    const key = `${table} ${row.id ?? `${row.user_id} ${row.page_id}`}`;
    const before = fresh.get(key);
    fresh.set(key, row.updated_at);
    if (before === row.updated_at || (before === undefined && eventType !== "INSERT")) return;
    group.delays.push(now - Date.parse(row.updated_at));
    group.since_written.push(now - Date.parse(written));
  };
};

const open = (group, { key, changes }) =>
  new Promise((done) => {
    const client = createClient(DROVER_URL, key, options);
    const channel = client.channel("farm");
    const seen = { rows: 0 };
    const hear = hears(group, seen);
    for (const change of changes) channel.on("postgres_changes", { event: "*", schema: "public", ...change }, hear);
    channel.subscribe((status, error) => {
      group.states[status] = (group.states[status] ?? 0) + 1;
      if (error) group.errors.push(`${error.message} ${error.cause?.reason ?? ""}`);
      done();
    });
    group.clients.push(client);
    group.seen.push(seen);
  });

const commands = {
  async open({ name, sockets }) {
    const group = { clients: [], seen: [], heard: {}, delays: [], since_written: [], states: {}, errors: [] };
    groups.set(name, group);
    for (let at = 0; at < sockets.length; at += WAVE) {
      await Promise.all(sockets.slice(at, at + WAVE).map((socket) => open(group, socket)));
    }
    say({ opened: name, states: group.states, errors: group.errors.slice(0, 3) });
  },
  begin() {
    for (const group of groups.values()) {
      Object.assign(group, { heard: {}, delays: [], since_written: [] });
      for (const seen of group.seen) seen.rows = 0;
    }
    say({ begun: true });
  },
  tell({ name }) {
    const { heard, delays, since_written, states, errors, seen } = groups.get(name);
    const rows = seen.map((one) => one.rows);
    say({ told: name, heard, delays, since_written, states, errors: errors.slice(0, 3), rows });
  },
  async close({ name }) {
    await Promise.all(groups.get(name).clients.map((client) => client.realtime.disconnect()));
    groups.delete(name);
    say({ closed: name });
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { do: command, ...what } = JSON.parse(line);
  Promise.resolve(commands[command](what)).catch((error) => say({ failed: command, error: String(error) }));
}
process.exit(0);
