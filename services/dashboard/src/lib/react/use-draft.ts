/** A text that somebody changes while its row is live. */
import { useState } from "react";

/** Shows what is stored until somebody writes; then theirs, whatever becomes of the row, until that is what is stored. */
export function useDraft(stored: string): [text: string, write: (text: string) => void] {
  const [draft, setDraft] = useState<string | null>(null);
  if (draft === stored) setDraft(null);
  return [draft ?? stored, setDraft];
}
