/** A job as it is being written: texts of fields, what is wrong with them, and the job that they make. */
import type { FoundPhones } from "@/farm/phone-names";
import { NEW_JOB } from "@/lib/api/schema";
import type { NewJob } from "@/lib/rest/commands";
import type { Target } from "@/lib/rest/rows";
import { NAMED_MAX } from "./again";
import { isPriority } from "./priority";
import { startAt, startFault } from "./start-time";

export const SCRIPTS = ["youtube_watch", "youtube_shorts", "youtube_subscribe"] as const;
export const TARGETS = ["all", "group", "pc", "phones"] as const;

export interface Draft {
  readonly title: string;
  readonly address: string;
  readonly script: (typeof SCRIPTS)[number];
  readonly from: string;
  readonly to: string;
  readonly like: string;
  readonly comment: string;
  readonly playlist: string;
  readonly target: (typeof TARGETS)[number];
  readonly group: string;
  readonly pc: string;
  readonly phones: string;
  /** What is written there, as the farm knows it. */
  readonly found: FoundPhones;
  /** Empty: all of the target. */
  readonly count: string;
  readonly priority: string;
  /** Empty: as soon as possible. */
  readonly start: string;
  readonly isHeldBack: boolean;
}

export const EMPTY: Draft = {
  title: "",
  address: "",
  script: NEW_JOB.script_type,
  from: String(NEW_JOB.duration_min_pct),
  to: String(NEW_JOB.duration_max_pct),
  like: String(NEW_JOB.prob_like),
  comment: String(NEW_JOB.prob_comment),
  playlist: String(NEW_JOB.prob_playlist),
  target: "all",
  group: "",
  pc: "",
  phones: "",
  found: { ids: [], unknown: [] },
  count: "",
  priority: String(NEW_JOB.priority),
  start: "",
  isHeldBack: false,
};

export type Fault = "address" | "duration" | "chances" | "target" | "count" | "priority" | "start";

const CHANCES_MAX = 300;

/** The rules of the server that can be told beforehand (000 §2.2, V001, V002). It has the last word. */
export function faultsOf(draft: Draft, now = Date.now()): Set<Fault> {
  const faults = new Set<Fault>();
  if (!isVideoAddress(draft.address)) faults.add("address");
  const [from, to] = [whole(draft.from), whole(draft.to)];
  if (!isWithin(from, 10, 100) || !isWithin(to, 10, 100) || from > to) faults.add("duration");
  const chances = [draft.like, draft.comment, draft.playlist].map(whole);
  const sum = chances.reduce((total, chance) => total + chance, 0);
  if (!chances.every((chance) => isWithin(chance, 0, 100)) || sum > CHANCES_MAX) faults.add("chances");
  if (placeOf(draft) === undefined) faults.add("target");
  if (draft.count.trim() !== "" && !(whole(draft.count) >= 1)) faults.add("count");
  if (!isPriority(draft.priority)) faults.add("priority");
  if (draft.start !== "" && startFault(draft.start, now) !== null) faults.add("start");
  return faults;
}

export function jobOf(draft: Draft): NewJob {
  return {
    ...NEW_JOB,
    title: draft.title.trim() || null,
    target_url: draft.address.trim(),
    script_type: draft.script,
    duration_min_pct: whole(draft.from),
    duration_max_pct: whole(draft.to),
    prob_like: whole(draft.like),
    prob_comment: whole(draft.comment),
    prob_playlist: whole(draft.playlist),
    is_active: !draft.isHeldBack,
    priority: Number(draft.priority),
    not_before: startAt(draft.start),
    target: targetOf(draft),
  };
}

function targetOf(draft: Draft): Target | null {
  const count: Target = draft.count.trim() === "" ? {} : { count: whole(draft.count) };
  const target = { ...placeOf(draft), ...count };
  return Object.keys(target).length === 0 ? null : target;
}

/** Where the phones are, without their number. Undefined: it is not complete. */
function placeOf(draft: Draft): Target | undefined {
  switch (draft.target) {
    case "all":
      return {};
    case "group":
      return draft.group === "" ? undefined : { group_id: draft.group };
    case "pc":
      return draft.pc === "" ? undefined : { pc_id: draft.pc };
    case "phones": {
      const { ids, unknown } = draft.found;
      const isGood = ids.length >= 1 && ids.length <= NAMED_MAX && unknown.length === 0;
      return isGood ? { device_ids: ids } : undefined;
    }
  }
}

/** As the server has it. */
const VIDEO_ADDRESS = /^https?:\/\/(www\.)?(youtube\.com|youtu\.be)\/\S+$/;

function isVideoAddress(text: string): boolean {
  return VIDEO_ADDRESS.test(text.trim());
}

function whole(text: string): number {
  return /^\d{1,6}$/.test(text.trim()) ? Number(text) : Number.NaN;
}

function isWithin(value: number, least: number, most: number): boolean {
  return value >= least && value <= most;
}
