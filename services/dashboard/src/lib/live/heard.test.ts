/** Who follows the tail misses nothing, or is told that something was missed. */
import { expect, test } from "vitest";
import { Frames } from "./frame";
import { Ear } from "./heard";
import { type HeardEvent, Tail } from "./tail";

function given() {
  const tail = new Tail(new Frames(() => {}));
  const add = (...types: string[]) => {
    for (const type of types) tail.add({ place: "", context: "render", event: { type } } as unknown as HeardEvent);
  };
  return { tail, add };
}
const types = (events: readonly HeardEvent[] | null) => events?.map((heard) => heard.event.type);

test("each is heard once, in order", () => {
  const { tail, add } = given();
  add("before");
  const ear = new Ear(tail);
  add("a", "b");
  expect(types(ear.take())).toEqual(["a", "b"]);
  expect(types(ear.take())).toEqual([]);
  add("c");
  expect(types(ear.take())).toEqual(["c"]);
});

test("more than the tail keeps were missed", () => {
  const { tail, add } = given();
  const ear = new Ear(tail);
  add(...Array.from({ length: 3_000 }, (_, n) => String(n)));
  expect(ear.take()).toBeNull();
  add("next");
  expect(types(ear.take())).toEqual(["next"]);
});

test("what was cleared before it was heard was missed", () => {
  const { tail, add } = given();
  const ear = new Ear(tail);
  add("a");
  tail.clear();
  expect(ear.take()).toBeNull();
});

test("those since a moment are the ones that were heard after it, as far as the tail remembers", () => {
  const { tail, add } = given();
  add("a", "b");
  const then = tail.heard;
  expect(tail.since(then)).toEqual([]);
  add("c", "d");
  expect(types(tail.since(then))).toEqual(["c", "d"]);
  tail.clear();
  add("e");
  expect(types(tail.since(then))).toEqual(["e"]);
});
