/** Looking back through the log: no event twice, none left out, however they are spread. */
import { describe, expect, test, vi } from "vitest";
import type { Server } from "@/lib/rest/read";
import type { EventRow } from "@/lib/rest/rows";
import { exportQuery, lookBack, type Place } from "./older";

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

  test("a range of time has an end on both sides, and nothing before it is asked for", async () => {
    const server = given([60, 3600, 2 * 3600, 90 * 60]);
    const from = NOW - 100 * 60_000;
    const wish = { kind: "all", entity: undefined, from, to: NOW - 30 * 60_000 } as const;
    const seen: number[] = [];
    let next: Place | null = { until: wish.to, windowMs: 600_000 };
    while (next !== null) {
      const found = await lookBack(server, wish, next);
      seen.push(...found.events.map((event) => event.n));
      next = found.next;
    }
    expect(seen).toEqual([1, 3]);
    const since = server.asked.map((path) => /at\.gte\.([^,]*)/.exec(decodeURIComponent(path))?.[1] ?? "");
    expect(since.every((at) => Date.parse(at) >= from)).toBe(true);
  });

  test("an export asks for all of it at once, with the same filters", () => {
    const wish = { kind: "devices", entity: "D1", type: "DeviceCameOnline", from: NOW, to: null } as const;
    expect(exportQuery(wish)).toEqual({
      and: "(at.gte.2026-11-16T12:00:00.000Z)",
      context: "eq.fleet",
      or: "(type.like.Device*,type.like.Pc*)",
      type: "eq.DeviceCameOnline",
      entities: "cs.{D1}",
      order: "at.desc,context.desc,seq.desc,line.desc",
    });
    expect(exportQuery({ kind: "all", entity: undefined })["and"]).toBeUndefined();
  });

  test("what is wanted is asked of the server", async () => {
    const server = given([1]);
    await lookBack(server, { kind: "devices", entity: "D1" }, { until: NOW, windowMs: 600_000 });
    const search = new URL(server.asked[0] ?? "", "http://x").searchParams;
    expect(search.get("or")).toBe("(type.like.Device*,type.like.Pc*)");
    expect(search.get("entities")).toBe("cs.{D1}");
  });
});
