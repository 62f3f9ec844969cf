/** The line to the stream: it comes back by itself and misses nothing. DF-23. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { SessionExpired } from "../session/errors";
import { BACKOFF_MS, LiveStream, RESUME_WITHIN_MS, SILENCE_MAX_MS } from "./stream";
import { FakePlatform } from "./testing";

let platform: FakePlatform;
let stream: LiveStream;
const heard: string[] = [];
const fresh: string[] = [];
const lost: (number | null)[] = [];

beforeEach(() => {
  vi.useFakeTimers();
  platform = new FakePlatform();
  heard.length = fresh.length = lost.length = 0;
  stream = new LiveStream(platform, "/api/events/stream", {
    onHello: (data, isFresh) => isFresh && fresh.push((JSON.parse(data) as { min_position: string }).min_position),
    onEvents: (events) => void heard.push(...events.map((event) => event.name)),
    onLost: (retryInMs) => lost.push(retryInMs),
  });
});

afterEach(() => {
  stream.stop();
  vi.useRealTimers();
});

const soon = () => vi.advanceTimersByTimeAsync(10);

async function open(): Promise<void> {
  void stream.run();
  await soon();
  platform.stream.eventsHello("fleet=5.0");
  await soon();
}

test("it begins now, and says from which position on rows are to be read", async () => {
  await open();
  expect(platform.stream.headers.get("Last-Event-ID")).toBeNull();
  expect(fresh).toEqual(["fleet=5"]);
});

test("DF-23: events are passed on as they come", async () => {
  await open();
  platform.stream.event("fleet=6.0", "JobCreated", {});
  platform.stream.event("fleet=6.1", "JobActivated", {});
  await soon();
  expect(heard).toEqual(["JobCreated", "JobActivated"]);
});

test("cut off, it comes back with the last id, and nothing is read again", async () => {
  await open();
  platform.stream.event("fleet=6.0", "JobCreated", {});
  await soon();
  platform.stream.break();
  await vi.advanceTimersByTimeAsync(BACKOFF_MS[0]);
  expect(platform.streams).toHaveLength(2);
  expect(platform.stream.headers.get("Last-Event-ID")).toBe("fleet=6.0");
  platform.stream.eventsHello("fleet=6.0");
  await soon();
  expect(fresh).toEqual(["fleet=5"]);
});

test("a server that says bye is asked again, too", async () => {
  await open();
  platform.stream.write('event: bye\ndata: {"reason":"The server restarts"}\n\n');
  platform.stream.close();
  await vi.advanceTimersByTimeAsync(BACKOFF_MS[0] + 10);
  expect(platform.streams).toHaveLength(2);
  expect(heard).toEqual([]);
});

test("it waits longer each time, up to a bound, and not at all for somebody who asks", async () => {
  platform.refusals = ["network", "network", 503, "network", "network", "network"];
  void stream.run();
  await vi.advanceTimersByTimeAsync(30_000);
  expect(lost).toEqual([...BACKOFF_MS, 8_000]);
  platform.stream.eventsHello("fleet=5.0");
  await soon();
  platform.refusals = ["network"];
  platform.stream.break();
  await vi.advanceTimersByTimeAsync(BACKOFF_MS[0]);
  expect(lost.at(-1)).toBe(BACKOFF_MS[1]); // and begins anew after it was open
  stream.retryNow();
  await soon();
  expect(platform.streams).toHaveLength(2);
});

test("a line on which nothing is said any more is given up", async () => {
  await open();
  await vi.advanceTimersByTimeAsync(SILENCE_MAX_MS - 1_000);
  platform.stream.write(": heartbeat\nid: fleet=7.0\n\n");
  await vi.advanceTimersByTimeAsync(SILENCE_MAX_MS - 1_000);
  expect(platform.streams).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(platform.streams).toHaveLength(2);
  expect(platform.stream.headers.get("Last-Event-ID")).toBe("fleet=7.0");
});

test("away for long, it begins anew instead of hearing all that happened", async () => {
  await open();
  platform.refusals = Array(20).fill("network");
  platform.stream.break();
  await vi.advanceTimersByTimeAsync(RESUME_WITHIN_MS + 20_000);
  platform.refusals = [];
  await vi.advanceTimersByTimeAsync(20_000);
  expect(platform.stream.headers.get("Last-Event-ID")).toBeNull();
  platform.stream.eventsHello("fleet=900.0");
  await soon();
  expect(fresh).toEqual(["fleet=5", "fleet=900"]);
});

test("a log that does not know the id is another one: everything is read again", async () => {
  await open();
  platform.refusals = [400];
  platform.stream.break();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(platform.stream.headers.get("Last-Event-ID")).toBeNull();
});

test("who may not listen is told so, and not asked again", async () => {
  platform.refusals = [403];
  void stream.run();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(lost).toEqual([null]);
  expect(platform.streams).toEqual([]);
});

test("without a session it ends, and can be run again with the next", async () => {
  vi.spyOn(platform, "request").mockRejectedValueOnce(new SessionExpired());
  await stream.run();
  expect(lost).toEqual([]);
  await open();
  expect(fresh).toEqual(["fleet=5"]);
});

test("it runs once, however often it is started", async () => {
  await open();
  void stream.run();
  await soon();
  expect(platform.streams).toHaveLength(1);
});
