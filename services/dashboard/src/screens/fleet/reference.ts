/** What a screenshot's reference is: a picture that Drover keeps, an address elsewhere, or a name that only its sender knows. */

export type Screenshot =
  /** A picture that this server has. */
  | { readonly kind: "own"; readonly path: string }
  /** Another server's address: it is offered as a link and never loaded by this page. */
  | { readonly kind: "link"; readonly href: string }
  | { readonly kind: "text"; readonly text: string };

const OWN = /^\/api\/evidence\/\d{4}-\d\d-\d\d\/[0-9a-f-]{36}\/[0-9a-f-]{36}\.\d{1,10}\.[0-9a-f]{16}\.(png|jpg|webp)$/;

/** A phone wrote the reference: whatever is not plainly one of the first two is a text. */
export function screenshotOf(reference: string): Screenshot {
  if (OWN.test(reference)) return { kind: "own", path: reference };
  if (/^https?:\/\//i.test(reference) && URL.canParse(reference)) {
    return { kind: "link", href: new URL(reference).href };
  }
  return { kind: "text", text: reference };
}

/** The activities of a stack, one a line or between `>`; empty lines are left out. */
export function activitiesOf(stack: string): string[] {
  return stack
    .split(/\r?\n|\s>\s/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
