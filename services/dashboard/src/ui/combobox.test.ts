/** Which of a list a text names. */
import { expect, test } from "vitest";
import { chosenOf, hasText } from "./combobox";

const CHOICES = [
  { value: "chip_count", name: "_MAIN Mini Chip Count" },
  { value: "payouts", name: "_SUB Payouts" },
  { value: "Payouts", name: "" },
  { value: "bio-1", name: "_SUB Player Bio" },
  { value: "bio-2", name: "_SUB Player Bio" },
];

test.each([
  ["chip_count", "chip_count"],
  [" chip_count ", "chip_count"],
  ["CHIP_COUNT", "chip_count"],
  ["_main mini chip count", "chip_count"],
  ["payouts", "payouts"],
  ["Payouts", "Payouts"],
])("%s names %s", (text, value) => expect(chosenOf(CHOICES, text)?.value).toBe(value));

test.each([
  ["", "nothing is written"],
  ["chip", "a part is not enough"],
  ["Grand Finale", "it is not there"],
  ["_SUB Player Bio", "two are called so"],
  ["PAYOUTS", "two are called so but for their case"],
])("%j names none: %s", (text) => expect(chosenOf(CHOICES, text)).toBeUndefined());

test.each([
  ["", true],
  ["chip main", true],
  ["COUNT", true],
  ["chip payouts", false],
])("the list has the first one for %j: %s", (text, shown) => {
  expect(hasText({ value: "chip_count", name: "_MAIN Mini Chip Count" }, text)).toBe(shown);
});
