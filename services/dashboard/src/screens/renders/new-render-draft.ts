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

/** The rules of the server that can be told beforehand. It has the last word. */
export function faultsOf(draft: Draft): Set<Fault> {
  const faults = new Set<Fault>();
  const id = draft.composition.trim();
  if (id === "" || id.length > ID_CHARS_MAX) faults.add("composition");
  if (draft.cue.trim().length > ID_CHARS_MAX) faults.add("cue");
  if (draft.day !== "" && Number.isNaN(Date.parse(draft.day))) faults.add("day");
  if (draft.mode === "json" && parsed(draft.json) === null) faults.add("json");
  return faults;
}

export function renderWished(draft: Draft): NewRender {
  const cue = draft.cue.trim();
  return {
    composition_id: draft.composition.trim(),
    gfx_data: draft.mode === "json" ? (parsed(draft.json) ?? {}) : gfxOf(draft.values),
    ...(cue === "" ? {} : { cue_item_id: cue }),
    ...(draft.day === "" ? {} : { broadcast_date: draft.day }),
  };
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
