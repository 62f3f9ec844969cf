/** How long and when, as people say it. */
import { expect, test } from "vitest";
import { en } from "../i18n/en";
import { ko } from "../i18n/ko";
import { duration, format } from "./format";

test.each([
  [0, "0 s"],
  [999, "1 s"],
  [61_000, "1 min 1 s"],
  [120_000, "2 min"],
  [3_600_000 * 2 + 3_000, "2 h"],
  [86_400_000 * 3 + 3_600_000 * 4, "3 d 4 h"],
])("%i ms are %s", (ms, said) => {
  expect(duration(en, ms)).toBe(said);
});

test("ago is rough, and a moment ago is now", () => {
  const now = Date.now();
  expect(format(en).ago(now - 500, now)).toBe("just now");
  expect(format(en).ago(now - 190_000, now)).toBe("3 min ago");
  expect(format(ko).ago(now - 190_000, now)).toBe("3분 전");
  expect(format(en).ago(now + 5_000, now)).toBe("just now"); // a clock that is off
});

test("numbers in groups, shares without end of digits", () => {
  expect(format(en).number(1234567)).toBe("1,234,567");
  expect(format(en).percent(1 / 3)).toBe("33.3%");
  expect(format(en).percent(0 / 0)).toBe("0%");
});
