/** Looking back through the log: no event twice, none left out, however they are spread. */
import { describe, expect, test, vi } from "vitest";
import type { Server } from "@/lib/rest/read";
import type { EventRow } from "@/lib/rest/rows";
import { lookBack, type Place } from "./older";

const NOW = Date.parse("2026-11-16T12:00:00Z");

/** A server with an event at each of these seconds before now. */
function given(secondsAgo: readonly number[]): Server & { asked: string[] } {
  const asked: string[] = [];
  const all = secondsAgo.map((ago, n) => ({ at: new Date(NOW - ago * 1000).toISOString(), n }) as EventRow);
  const json = async (path: string) => {
    asked.push(path);
    const search = new URL(path, "http://x").searchParams;
    const [, since, until] = /\(at\.gte\.(.*),at\.lt\.(.*)\)/.exec(search.get("and") ?? "") ?? [];
    const found = all.filter((event) => event.at >= (since ?? "") && event.at < (until ?? ""));
    return found.sort((a, b) => b.at.localeCompare(a.at)).slice(0, Number(search.get("limit")));
  };
  return { asked, json: json as Server["json"], request: vi.fn() };
}

async function all(server: Server, pagesMax: number): Promise<number[]> {
  let next: Place | null = { until: NOW, windowMs: 600_000 };
  const seen: number[] = [];
  for (let page = 0; page < pagesMax && next !== null; page++) {
    const found = await lookBack(server, { kind: "all", entity: undefined }, next);
    seen.push(...found.events.map((event) => event.n));
    next = found.next;
  }
  return seen;
}

describe("looking back", () => {
  test("a busy time comes page by page, each event once", async () => {
    const seconds = Array.from({ length: 450 }, (_, n) => n + 1);
    const seen = await all(given(seconds), 3);
    expect(seen).toEqual(Array.from({ length: 450 }, (_, n) => n));
  });

  test("a quiet night is passed over in windows that grow", async () => {
    const server = given([10 * 3600]);
    const found = await lookBack(server, { kind: "all", entity: undefined }, { until: NOW, windowMs: 600_000 });
    expect(found.events).toHaveLength(1);
    expect(server.asked.length).toBeLessThan(8);
  });

  test("what is wanted is asked of the server", async () => {
    const server = given([1]);
    await lookBack(server, { kind: "devices", entity: "D1" }, { until: NOW, windowMs: 600_000 });
    const search = new URL(server.asked[0] ?? "", "http://x").searchParams;
    expect(search.get("or")).toBe("(type.like.Device*,type.like.Pc*)");
    expect(search.get("entities")).toBe("cs.{D1}");
  });
});
