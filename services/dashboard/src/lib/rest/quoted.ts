/** Ids that people or other programs gave may have commas, dots and brackets in them: in a list they stand in quotes. */

export function quoted(id: string): string {
  return `"${id.replace(/["\\]/g, "\\$&")}"`;
}

export function oneOfQuoted(ids: Iterable<string>): string {
  return `in.(${[...ids].map(quoted).join(",")})`;
}
