/** Whether the page shows a moment of the past, and which. Nothing can be done to the past. */
import { createContext, use } from "react";

export interface Past {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The same as the address and the server have it. */
  readonly iso: string;
}

export const PastContext = createContext<Past | null>(null);

/** Null: the page shows what is. */
export function usePast(): Past | null {
  return use(PastContext);
}
