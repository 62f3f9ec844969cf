/** Bytes of a stream become events, wherever the network cuts them. */
import { expect, test } from "vitest";
import { SseParser } from "./sse";

const bytes = (text: string) => new TextEncoder().encode(text);

const STREAM =
  'retry: 2000\nid: fleet=1.0\nevent: hello\ndata: {"a":1}\n\nid: fleet=2.0\nevent: JobCreated\ndata: {"title":"작업"}\n\n';

test("events have a name, data and an id", () => {
  expect(new SseParser().take(bytes(STREAM))).toEqual([
    { id: "fleet=1.0", name: "hello", data: '{"a":1}' },
    { id: "fleet=2.0", name: "JobCreated", data: '{"title":"작업"}' },
  ]);
});

test("cut at any byte, also within a letter, they are the same", () => {
  const whole = bytes(STREAM);
  const expected = new SseParser().take(whole);
  for (let cut = 0; cut <= whole.length; cut++) {
    const parser = new SseParser();
    expect([...parser.take(whole.slice(0, cut)), ...parser.take(whole.slice(cut))]).toEqual(expected);
  }
});

test("a heartbeat is no event, and its id is kept", () => {
  const parser = new SseParser();
  expect(parser.take(bytes(": heartbeat\nid: fleet=9.0\n\n"))).toEqual([]);
  expect(parser.lastId).toBe("fleet=9.0");
});

test("what is not complete waits", () => {
  const parser = new SseParser();
  expect(parser.take(bytes("event: a\ndata: 1\n"))).toEqual([]);
  expect(parser.take(bytes("\n"))).toEqual([{ id: undefined, name: "a", data: "1" }]);
});
