/** Files of rows that are in the page. */
import { expect, test } from "vitest";
import { cell, csvOf } from "./csv";

test("a text that a spreadsheet would calculate does not begin with its sign", () => {
  for (const text of ["=1+1", "+cmd", "-cmd", "@sum(a)", "\tx", "＝1", "＋1", "－1", "＠a"])
    expect(cell(text).replaceAll('"', "")).toBe(`'${text}`);
  expect([cell("-5"), cell("+1.5"), cell(-5)]).toEqual(["-5", "+1.5", "-5"]);
});

test("commas, quotes and lines stand in quotes, and what is no text is written as JSON", () => {
  expect(cell('a "b", c')).toBe('"a ""b"", c"');
  expect(cell("two\nlines")).toBe('"two\nlines"');
  expect(cell({ a: [1] })).toBe('"{""a"":[1]}"');
  expect([cell(null), cell(undefined), cell(true)]).toEqual(["", "", "true"]);
});

test("a file begins with its columns, and all rows have the same", () => {
  expect(
    csvOf([
      { id: 1, title: "제목" },
      { id: 2, more: "x" },
    ]),
  ).toBe("\ufeffid,title,more\r\n1,제목,\r\n2,,x\r\n");
});
