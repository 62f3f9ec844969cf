/** What an event is about, in a few words, with names instead of ids. */
import { codeText } from "@/farm/code";
import { shortId } from "@/farm/short-id";
import type { Dictionary } from "@/lib/i18n/en";
import type { Names } from "@/lib/i18n/reasons";
import type { Query } from "@/lib/rest/read";
import type { Kind } from "./search";

export type EventData = Readonly<Record<string, unknown>> & { readonly type: string };

export function aboutText(t: Dictionary, names: Names, event: EventData): string {
  const text = (key: string) => (typeof event[key] === "string" ? (event[key] as string) : undefined);
  const parts: (string | undefined)[] = [
    text("serial_number") ?? (text("device_id") === undefined ? undefined : names.device(text("device_id"))),
    text("title") ?? (text("job_id") === undefined ? undefined : names.job(text("job_id"))),
    text("pc_id"),
    typeof event["attempt"] === "number" && event["attempt"] > 1 ? t.device.attempt(event["attempt"]) : undefined,
    typeof event["progress_pct"] === "number" ? `${event["progress_pct"]} %` : undefined,
    typeof event["capacity"] === "number" ? String(event["capacity"]) : undefined,
    text("code") === undefined ? undefined : codeText(t, text("code") ?? ""),
    text("rule") === undefined || text("code") !== undefined ? undefined : codeText(t, text("rule") ?? ""),
    text("message"),
    text("reason"),
    text("holder"),
  ];
  const said = parts.filter((part) => part !== undefined && part !== "");
  return said.length > 0 ? said.join(" · ") : plainText(event);
}

const ENVELOPE = new Set(["type", "n", "at", "by", "cause", "trace"]);
const PLAIN_FIELDS_MAX = 4;
const TEXT_MAX = 60;

/** Neither a moment, which says little, nor what was sealed, which says nothing. */
function isShort(value: unknown): boolean {
  if (typeof value === "string") return value !== "" && value.length <= TEXT_MAX && !/^\d{4}-\d\d-\d\dT/.test(value);
  return typeof value === "number" || typeof value === "boolean";
}

/**
 * Of events that have no words of their own here: a few fields as they are, what they are about first. In the same
 * order whether an event was heard or read: tables keep none.
 */
function plainText(event: EventData): string {
  return Object.entries(event)
    .filter(([key, value]) => !ENVELOPE.has(key) && isShort(value))
    .sort(([a], [b]) => Number(b.endsWith("_id")) - Number(a.endsWith("_id")) || (a < b ? -1 : 1))
    .slice(0, PLAIN_FIELDS_MAX)
    .map(
      ([key, value]) =>
        `${key.replace(/_id$/, "")} ${typeof value === "string" && UUID.test(value) ? shortId(value) : value}`,
    )
    .join(" · ");
}

const UUID = /^[0-9a-f-]{36}$/;

interface Rule {
  readonly context?: string;
  /** Its type begins with one of these. */
  readonly types?: readonly string[];
}

const OF_KIND: Record<Exclude<Kind, "all">, Rule> = {
  jobs: { context: "fleet", types: ["Job", "SupplyAdvanced"] },
  attempts: { context: "fleet", types: ["Attempt", "Assignment", "Retry", "StaleReport"] },
  devices: { context: "fleet", types: ["Device", "Pc"] },
  renders: { context: "render" },
  analyses: { context: "analysis" },
  reminders: { context: "reminder" },
  people: { context: "identity" },
  alerts: { types: ["Alert"] },
};

export function isOfKind(event: { readonly context: string; readonly type: string }, kind: Kind): boolean {
  if (kind === "all") return true;
  const { context, types } = OF_KIND[kind];
  if (context !== undefined && context !== event.context) return false;
  return types === undefined || types.some((beginning) => event.type.startsWith(beginning));
}

/** The same as the server filters it. */
export function kindFilter(kind: Kind): Query {
  if (kind === "all") return {};
  const { context, types } = OF_KIND[kind];
  return {
    ...(context === undefined ? {} : { context: `eq.${context}` }),
    ...(types === undefined ? {} : { or: `(${types.map((beginning) => `type.like.${beginning}*`).join(",")})` }),
  };
}

/** Whether an id stands anywhere in it. */
export function mentions(value: unknown, id: string): boolean {
  if (typeof value === "string") return value === id;
  if (typeof value === "object" && value !== null) return Object.values(value).some((inner) => mentions(inner, id));
  return false;
}

export type EventTone = "plain" | "good" | "bad" | "warn";

export function toneOf(type: string): EventTone {
  if (/^(AttemptFailed|AttemptFailedFinal|AttemptTimedOut|AlertRaised|DeviceQuarantined|JobDeactivated)$/.test(type))
    return "bad";
  if (
    /^(AttemptRolledBack|RetryScheduled|DeviceHeld|PcHeld|JobPaused|JobExpired|StaleReportRefused|DeviceWentOffline)$/.test(
      type,
    )
  ) {
    return "warn";
  }
  return /^(AttemptSucceeded|JobCompleted|AlertResolved)$/.test(type) ? "good" : "plain";
}
