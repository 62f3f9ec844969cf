/** Ends of attempts before the page was opened: failures are read apart, so successes do not crowd them out. */
import { expect, test } from "vitest";
import type { Server } from "../rest/read";
import { readHistory } from "./history";

const PAGE = 1000;
const NOW = Date.parse("2026-11-16T09:00:00Z");

/** So many attempts ended in each way, one a tenth of a second, the newest now. */
function farm(ends: Readonly<Record<string, number>>): Server & { readonly asked: string[] } {
  const all = Object.entries(ends).flatMap(([event_type, count]) =>
    Array.from({ length: count }, (_, at) => ({
      id: at,
      event_type,
      created_at: new Date(NOW - at * 100).toISOString(),
    })),
  );
  const asked: string[] = [];
  const json = async (path: string) => {
    const query = new URLSearchParams(path.slice(path.indexOf("?")));
    const types =
      query
        .get("event_type")
        ?.replace(/^in\.\(|\)$/g, "")
        .split(",") ?? [];
    const before = /created_at\.lt\.([^),]+)/.exec(query.get("and") ?? "")?.[1] ?? "9";
    asked.push(types.join());
    return all
      .filter((row) => types.includes(row.event_type) && row.created_at < before)
      .sort((a, b) => (a.created_at < b.created_at ? 1 : -1))
      .slice(0, PAGE);
  };
  return { asked, json: json as Server["json"] } as Server & { asked: string[] };
}

test("all failures are read, also when there are more successes than this page reads", async () => {
  const found = await readHistory(farm({ SUCCEEDED: 8_000, FAILED: 1_500, TIMEOUT: 200 }), {});
  const count = (type: string) => found.filter((row) => row.event_type === type).length;
  expect([count("FAILED"), count("TIMEOUT")]).toEqual([1_500, 200]);
  expect(count("SUCCEEDED")).toBe(5 * PAGE);
});

test("they come in the order in which they happened", async () => {
  const found = await readHistory(farm({ SUCCEEDED: 20, FAILED: 20 }), {});
  const times = found.map((row) => row.created_at);
  expect(times).toEqual(times.toSorted());
  expect(found).toHaveLength(40);
});

test("a small farm is read in two requests", async () => {
  const small = farm({ SUCCEEDED: 3 });
  await readHistory(small, {});
  expect(small.asked).toHaveLength(2);
});
