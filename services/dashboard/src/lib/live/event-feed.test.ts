/** Events as they happen, each with its place in the log. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { EventFeed } from "./event-feed";
import { Frames } from "./frame";
import { BACKOFF_MS } from "./stream";
import { FakePlatform } from "./testing";

let platform: FakePlatform;
let feed: EventFeed;

beforeEach(() => {
  vi.useFakeTimers();
  vi.setSystemTime("2026-11-16T09:00:00Z");
  platform = new FakePlatform();
  feed = new EventFeed(platform, new Frames((flush) => flush()));
});

afterEach(() => {
  feed.stop();
  vi.useRealTimers();
});

const soon = () => vi.advanceTimersByTimeAsync(10);

test("it says from where on it hears, so that what was before can be read without a gap", async () => {
  feed.start();
  await soon();
  expect(feed.begin.get()).toBeNull();
  platform.stream.eventsHello("fleet=5.3,render=2.0");
  await soon();
  expect(feed.begin.get()).toMatchObject({ minPosition: "fleet=5,render=2" });
});

test("each event is of the context whose place has moved", async () => {
  feed.start();
  await soon();
  platform.stream.eventsHello("fleet=5.0,render=2.0");
  platform.stream.event("fleet=6.0,render=2.0", "JobCreated", {});
  platform.stream.event("fleet=6.0,render=3.0", "RetryScheduled", {});
  await soon();
  expect(feed.tail.events.map((heard) => heard.place)).toEqual(["fleet=6.0", "render=3.0"]);
});

test("cut off, it goes on after the last event that it heard", async () => {
  feed.start();
  await soon();
  platform.stream.eventsHello("fleet=5.0");
  platform.stream.event("fleet=6.0", "JobCreated", {});
  await soon();
  platform.stream.break();
  await vi.advanceTimersByTimeAsync(BACKOFF_MS[0]);
  expect(platform.stream.headers.get("Last-Event-ID")).toBe("fleet=6.0");
  platform.stream.eventsHello("fleet=6.0");
  platform.stream.event("fleet=7.0", "JobActivated", {});
  await soon();
  expect(feed.tail.events.map((heard) => heard.place)).toEqual(["fleet=6.0", "fleet=7.0"]);
});

test("without a line what was before can be read at once, and again when there is one", async () => {
  platform.refusals = ["network"];
  feed.start();
  await soon();
  expect(feed.begin.get()).toEqual({ at: Date.parse("2026-11-16T09:00:00Z") });
  await vi.advanceTimersByTimeAsync(BACKOFF_MS[0]);
  platform.stream.eventsHello("fleet=5.0");
  await soon();
  expect(feed.begin.get()).toMatchObject({ minPosition: "fleet=5" });
});
