// @vitest-environment happy-dom
/** What somebody writes is theirs, however often the row behind it changes. */

import { act, type ReactNode } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, expect, test } from "vitest";
import { useDraft } from "./use-draft";

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;

let root: Root | undefined;
let write: (text: string) => void = () => {};

function Box({ stored }: { stored: string }): ReactNode {
  const [text, set] = useDraft(stored);
  write = set;
  return text;
}

async function show(stored: string): Promise<string | null> {
  root ??= createRoot(document.body.appendChild(document.createElement("div")));
  await act(async () => root?.render(<Box stored={stored} />));
  return document.body.textContent;
}

afterEach(() => {
  act(() => root?.unmount());
  root = undefined;
  document.body.replaceChildren();
});

test("until somebody writes it shows the row", async () => {
  expect(await show("10")).toBe("10");
  expect(await show("12")).toBe("12");
});

test("what is being written stays when the row changes", async () => {
  await show("10");
  await act(async () => write("1"));
  expect(await show("12")).toBe("1");
});

test("once it is stored it follows the row again", async () => {
  await show("10");
  await act(async () => write("15"));
  expect(await show("15")).toBe("15");
  expect(await show("18")).toBe("18");
});
