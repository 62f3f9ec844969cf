// What the JavaScript programs say: one line for each step, `ok <section> <what>` or `FAIL <section> <what>: <why>`.
import { setTimeout as pause } from "node:timers/promises";
import { createClient } from "@supabase/supabase-js";
import ws from "ws";

/** A failed step does not end the program: the next ones are tried, too. */
export async function step(section, what, work) {
  try {
    await work();
    console.log(`ok ${section} ${what}`);
  } catch (error) {
    const early = error instanceof TypeError && /of (undefined|null)|not iterable/.test(error.message);
    const ours = error.code === "ERR_ASSERTION" && !error.generatedMessage;
    const text = ours ? error.message.split("\n")[0] : error.message;
    const why = early ? `needs an earlier step (${text})` : text;
    console.log(`FAIL ${section} ${what}: ${why.replaceAll(/\s+/g, " ")}`);
  }
}

/** A client of supabase-js. Node 20 has no WebSocket of its own; browsers need no options. */
export const connect = (key) =>
  createClient(process.env.SUPABASE_URL, key, { auth: { persistSession: false }, realtime: { transport: ws } });

/** The rows of an answer, or its error. */
export function rows({ data, error, status }) {
  if (error) throw new Error(`${status} ${error.code} ${error.message}`);
  return data;
}

/** Poll; the first answer that is not empty. */
export async function until(look, withinMs = 60000) {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const found = await look();
    if (found && found.length !== 0) return found;
    if (Date.now() > deadline) throw new Error(`not within ${withinMs} ms`);
    await pause(300);
  }
}

/** Subscribe a channel of Realtime, or say why not. */
export const subscribed = (channel) =>
  new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error("not subscribed within 60 s")), 60000);
    channel.subscribe((status, error) => {
      clearTimeout(late);
      if (status === "SUBSCRIBED") resolve(channel);
      else reject(new Error(`${status} ${error?.message ?? ""}`));
    });
  });

export const now = (seconds = 0) => new Date(Date.now() + seconds * 1000).toISOString();
