/** Reads rows of reminders. Each read is a line for `localStorage.debug = "alarm"`: how many rows, and never whose. */
import { debug } from "../debug/debug";
import { type Query, rows, type Server } from "./read";

const log = debug("alarm");

type Relation = "alarm" | "alarms_event" | "user_info" | "push_subscriptions";

export async function reminderRows<T>(server: Server, relation: Relation, query: Query): Promise<T[]> {
  try {
    const found = await rows<T>(server, relation, query);
    log("read", relation, found.length);
    return found;
  } catch (error) {
    log("not read", relation, error);
    throw error;
  }
}
