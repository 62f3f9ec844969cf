/** What the address of the analyses says. */
import { choice, flag, only, type RawSearch, sortOf, text } from "@/app/search-params";

export const SHOWS = ["all", "stalled", "processing", "cleaned", "failed", "completed"] as const;
export type Show = (typeof SHOWS)[number];

/** Columns with an index. */
export const TEST_SORTS = ["user_id", "created_at"] as const;

export function analysesSearch(raw: RawSearch) {
  return only({
    /** Part of a user's id. */
    q: text(raw, "q"),
    show: choice(raw, "show", SHOWS),
    /** By which column tests are sorted. */
    order: sortOf(raw, TEST_SORTS),
    /** What is open: a test, a user or a cleanup. */
    test: text(raw, "test"),
    user: text(raw, "user"),
    run: text(raw, "run"),
    /** Whether to clean up now is being asked. */
    clean: flag(raw, "clean"),
  });
}
export type AnalysesSearch = ReturnType<typeof analysesSearch>;
