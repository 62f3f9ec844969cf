/** One action for many things, some at a time, with a report of what was refused and why. */
import { ApiError, ReplayFailed } from "../session/errors";

/** So many things in one action. */
export const BULK_MAX = 500;
/** Things in one request. The server takes a hundred rows. */
export const PART = 100;
/** So many refusals are asked for their reasons; the rest are only named. */
export const EXPLAINED_MAX = 20;

export interface Refused {
  readonly item: string;
  /** Null: it was refused with others, and its own reason was not asked for. */
  readonly why: string | null;
}

export interface Report {
  readonly done: number;
  readonly refused: readonly Refused[];
}

export interface Ways {
  /** Sends some at once. The server tries each of them, also when it refuses one. */
  readonly some: (items: readonly string[], key: string) => Promise<unknown>;
  /** Which of them a refusal says were done all the same. */
  readonly accepted: (refusal: ApiError, items: readonly string[]) => readonly string[];
}

export async function inBulk(items: readonly string[], ways: Ways, key: string): Promise<Report> {
  const refused: Refused[] = [];
  for (let from = 0; from < items.length; from += PART) {
    const part = items.slice(from, from + PART);
    const refusal = await refusalOf(() => ways.some(part, `${key}-${from}`));
    if (refusal === null) continue;
    const accepted = new Set(part.length === 1 ? [] : ways.accepted(refusal, part));
    for (const item of part.filter((one) => !accepted.has(one))) {
      if (part.length === 1) refused.push({ item, why: refusal.message });
      else if (refused.length >= EXPLAINED_MAX) refused.push({ item, why: null });
      else {
        // The answer names one refusal; each has its own reason. What is possible by now is done.
        const own = await refusalOf(() => ways.some([item], `${key}-${item}`));
        if (own !== null) refused.push({ item, why: own.message });
      }
    }
  }
  return { done: items.length - refused.length, refused };
}

/** Only what the state of a thing does not allow: anything else is a fault of the whole action. */
async function refusalOf(send: () => Promise<unknown>): Promise<ApiError | null> {
  try {
    await send();
    return null;
  } catch (error) {
    const cause = error instanceof ReplayFailed ? error.cause : error;
    if (cause instanceof ApiError && (cause.status === 404 || cause.status === 409)) return cause;
    throw error;
  }
}

/** As a PATCH by id answers: ids. */
export function acceptedIds(refusal: ApiError): readonly string[] {
  return list(refusal) as readonly string[];
}

/** As a POST of an array answers: places in it. */
export function acceptedPlaces(refusal: ApiError, items: readonly string[]): readonly string[] {
  return (list(refusal) as readonly number[]).flatMap((place) => items[place] ?? []);
}

function list(refusal: ApiError): readonly unknown[] {
  const { accepted } = { accepted: [], ...(refusal.details as { accepted?: unknown[] } | null) };
  return accepted;
}
