/** What a chart says about one of its points, and which point a key leads to. Nothing here draws. */

/** Seconds since 1970. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Something that happened at a moment, such as a restart. */
export interface Mark {
  readonly at: number;
  readonly text: string;
}

/** The steps in which nothing was recorded, neighbours joined. `isKnown`: by step. */
export function gapsIn(start: number, stepS: number, isKnown: readonly boolean[]): Span[] {
  const gaps: Span[] = [];
  isKnown.forEach((known, step) => {
    if (known) return;
    const from = start + step * stepS;
    const last = gaps.at(-1);
    if (last?.to === from) gaps[gaps.length - 1] = { from: last.from, to: from + stepS };
    else gaps.push({ from, to: from + stepS });
  });
  return gaps;
}

/** A tenth of the chart. */
const PAGES = 10;

/** Where a key leads from a point; null: the key is not for charts. */
export function pointAfter(key: string, at: number, count: number): number | null {
  const page = Math.max(1, Math.round(count / PAGES));
  const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: page, PageDown: -page }[key];
  const last = count - 1;
  if (key === "Home") return 0;
  if (key === "End") return last;
  return step === undefined ? null : Math.min(last, Math.max(0, at + step));
}

/** The index of the time nearest to a moment. Times grow. */
export function nearest(times: ArrayLike<number>, moment: number): number {
  let found = 0;
  for (let at = 1; at < times.length; at++) {
    if (Math.abs((times[at] ?? 0) - moment) <= Math.abs((times[found] ?? 0) - moment)) found = at;
  }
  return found;
}

/** Which marks belong to the step that begins at a time. */
export function marksIn(marks: readonly Mark[], from: number, stepS: number): readonly Mark[] {
  return marks.filter((mark) => mark.at >= from && mark.at < from + stepS);
}

/** Points with nothing on either side: a line through them would not be seen. */
export function lonely(values: ArrayLike<number | null | undefined>): number[] {
  const found: number[] = [];
  for (let at = 0; at < values.length; at++) {
    if (values[at] != null && values[at - 1] == null && values[at + 1] == null) found.push(at);
  }
  return found;
}
