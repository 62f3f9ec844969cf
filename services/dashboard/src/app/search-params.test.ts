/** Addresses say in plain words what is shown, and survive whatever else stands in them. */
import { expect, test } from "vitest";
import { alertsSearch } from "@/screens/alerts/search";
import { eventsSearch } from "@/screens/events/search";
import { fleetSearch } from "@/screens/fleet/search";
import { queueSearch } from "@/screens/queue/search";
import { parseSearch, stringifySearch } from "./search-params";

test.each([
  [fleetSearch, "?q=PC-01&show=busy,error&sort=trouble&device=D1"],
  [queueSearch, "?q=launch film&ended=cancelled&job=J1&at=failed&new=1"],
  [eventsSearch, "?q=Attempt&kind=jobs&entity=D1&event=fleet=12.3"],
  [alertsSearch, "?past=1"],
] as const)("what %o reads it writes again", (read, text) => {
  const search = read(parseSearch(text));
  const written = stringifySearch(search);
  expect(read(parseSearch(written))).toEqual(search);
  expect(Object.keys(search)).toHaveLength(text.split("&").length);
});

test("what is not known is dropped, also from the address", () => {
  expect(fleetSearch(parseSearch("?show=flying,error&sort=up&x=1"))).toEqual({ show: "error" });
  expect(queueSearch(parseSearch("?ended=now&new=yes"))).toEqual({});
});

test("numbers and words that look like them stay texts", () => {
  expect(fleetSearch(parseSearch("?q=0012"))).toEqual({ q: "0012" });
  expect(stringifySearch({ q: "0012" })).toBe("?q=0012");
});

test("nothing chosen is no question mark", () => {
  expect(stringifySearch({ q: "", show: undefined, new: false })).toBe("");
});
