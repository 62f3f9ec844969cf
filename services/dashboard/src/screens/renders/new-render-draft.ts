/** A render as it is being written: texts of fields, what is wrong with them, and the request that they make. */
import type { NewRender } from "@/lib/rest/render-commands";

export const MODES = ["fields", "json"] as const;
export type Mode = (typeof MODES)[number];

export interface Draft {
  readonly composition: string;
  readonly cue: string;
  readonly day: string;
  readonly mode: Mode;
  /** By the name that a field has in the mapping: `Slot 1 - name`. */
  readonly values: Readonly<Record<string, string>>;
  readonly json: string;
}

export const EMPTY: Draft = { composition: "", cue: "", day: "", mode: "fields", values: {}, json: "{}" };

export type Fault = "composition" | "cue" | "day" | "json";

const ID_CHARS_MAX = 128;

/** The rules of the server that can be told beforehand. It has the last word. `composition`: the known one that the
 * draft names, if it names one. */
export function faultsOf(draft: Draft, composition: string | undefined): Set<Fault> {
  const faults = new Set<Fault>();
  if (composition === undefined) faults.add("composition");
  if (draft.cue.trim().length > ID_CHARS_MAX) faults.add("cue");
  if (draft.day !== "" && Number.isNaN(Date.parse(draft.day))) faults.add("day");
  if (draft.mode === "json" && parsed(draft.json) === null) faults.add("json");
  return faults;
}

/** `fields`: those of the composition. What was written for another one is left out. */
export function renderWished(draft: Draft, composition: string, fields: readonly string[]): NewRender {
  const cue = draft.cue.trim();
  return {
    composition_id: composition,
    gfx_data: draft.mode === "json" ? (parsed(draft.json) ?? {}) : gfxOf(valuesOf(draft, fields)),
    ...(cue === "" ? {} : { cue_item_id: cue }),
    ...(draft.day === "" ? {} : { broadcast_date: draft.day }),
  };
}

export function valuesOf(draft: Draft, fields: readonly string[]): Readonly<Fields> {
  return Object.fromEntries(Object.entries(draft.values).filter(([name]) => fields.includes(name)));
}

const DRAWS_NOTHING: ReadonlySet<string> = new Set(["composition_name", "slot_number"]);

/** Whether gfx_data has nothing that could be drawn. */
export function isBlank(gfx: unknown): boolean {
  if (gfx === null || gfx === undefined || gfx === "") return true;
  if (typeof gfx !== "object") return false;
  return Object.entries(gfx).every(([name, value]) => DRAWS_NOTHING.has(name) || isBlank(value));
}

type Fields = Record<string, string>;

/** As 003 §3.4.2 has it. What was left empty is left out. */
export function gfxOf(values: Readonly<Fields>): Readonly<Record<string, unknown>> {
  const slots = new Map<number, Fields>();
  const single: Fields = {};
  const flags: Fields = {};
  for (const [name, value] of Object.entries(values)) {
    if (value === "") continue;
    const slot = /^Slot (\d+) - (.+)$/.exec(name);
    const alone = /^Single - (.+)$/.exec(name);
    const flag = /^Flag (?:- )?(.+)$/.exec(name);
    if (slot?.[2] !== undefined) slots.set(Number(slot[1]), { ...slots.get(Number(slot[1])), [slot[2]]: value });
    else if (alone?.[1] !== undefined) single[alone[1]] = value;
    else if (flag?.[1] !== undefined) flags[flag[1]] = value;
  }
  const numbered = [...slots].sort(([a], [b]) => a - b).map(([slot_number, fields]) => ({ slot_number, fields }));
  return {
    ...(numbered.length === 0 ? {} : { slots: numbered }),
    ...(Object.keys(single).length === 0 ? {} : { single_fields: single }),
    ...(Object.keys(flags).length === 0 ? {} : { flags }),
  };
}

function parsed(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as never) : null;
  } catch {
    return null;
  }
}
