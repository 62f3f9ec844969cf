// @vitest-environment happy-dom
/** Where the keyboard goes when a panel opens. */
import { type ReactNode, useLayoutEffect, useRef } from "react";
import { afterEach, expect, test } from "vitest";
import { TestPage } from "@/app/testing";
import { SidePanel } from "./side-panel";

afterEach(() => document.body.replaceChildren());

const open = async (): Promise<void> => {
  const panel = (
    <SidePanel title="Launch" close={() => {}}>
      …
    </SidePanel>
  );
  await new TestPage().show("viewer", panel);
};

test("a panel that opens is read next", async () => {
  await open();
  expect(document.activeElement?.textContent).toBe("Launch");
});

test("a panel that was still loading when a dialog opened leaves the keyboard to the dialog", async () => {
  const dialog = document.createElement("div");
  dialog.setAttribute("role", "dialog");
  const box = document.createElement("input");
  dialog.append(box);
  document.body.append(dialog);
  box.focus();
  await open();
  expect(document.activeElement).toBe(box);
});

/** Somebody is in its field as soon as it is drawn. */
function Written(): ReactNode {
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => field.current?.focus(), []);
  return (
    <SidePanel title="Launch" close={() => {}}>
      <input ref={field} />
    </SidePanel>
  );
}

test("who has seen a panel and writes in it keeps the keyboard", async () => {
  await new TestPage().show("viewer", <Written />);
  expect(document.activeElement?.tagName).toBe("INPUT");
});
