/** Enough of an id to tell it from its neighbours. Its end: ids that follow each other in time begin alike. */

const SHORT_ID_CHARS = 8;

export function shortId(id: string): string {
  return id.slice(-SHORT_ID_CHARS);
}
