// @vitest-environment happy-dom
/** A live table: rows come, go and change, and what somebody has in hand stays the same element. */
import { act, type ReactNode, useState } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, test } from "vitest";
import { listenToKeyboard } from "@/lib/keys/use-keys";
import { type Chosen, type Column, DataTable } from "./data-table";

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;

interface Row {
  readonly id: string;
  readonly done: number;
}

let root: Root;
let chosen: Chosen;

beforeEach(() => {
  root = createRoot(document.body.appendChild(document.createElement("div")));
  chosen = {};
});

afterEach(() => {
  act(() => root.unmount());
  document.body.replaceChildren();
});

/** As screens do: the columns are made anew on every render. */
function Jobs({ rows }: { rows: readonly Row[] }): ReactNode {
  return (
    <DataTable<Row>
      label="Jobs"
      rows={rows}
      open={() => {}}
      columns={[
        { id: "done", header: "Done", cell: (row, index) => `${index + 1}: ${row.done}` },
        { id: "act", header: "Act", isHeaderHidden: true, cell: (row) => <button type="button">Stop {row.id}</button> },
      ]}
      selecting={{
        selected: chosen,
        onChange: (selected) => {
          chosen = selected;
        },
        selectAll: "Select all",
        select: (row) => `Select ${row.id}`,
      }}
    />
  );
}

const show = (...rows: Row[]) => act(async () => root.render(<Jobs rows={rows} />));
const button = (id: string) =>
  [...document.querySelectorAll("button")].find((one) => one.textContent === `Stop ${id}`) as HTMLButtonElement;
const box = (label: string) => document.querySelector<HTMLInputElement>(`[aria-label="${label}"]`) as HTMLInputElement;
const cells = () => [...document.querySelectorAll("tbody tr")].map((row) => row.querySelectorAll("td")[1]?.textContent);

test("a button in a row keeps the focus over updates of its row, and when rows before it leave", async () => {
  await show({ id: "A", done: 1 }, { id: "B", done: 1 });
  const before = button("B");
  before.focus();
  await show({ id: "A", done: 2 }, { id: "B", done: 2 });
  await show({ id: "B", done: 3 });
  expect(cells()).toEqual(["1: 3"]);
  expect(button("B")).toBe(before);
  expect(document.activeElement).toBe(before);
});

test("rows are selected one by one, or all at once", async () => {
  const rows = [
    { id: "A", done: 1 },
    { id: "B", done: 1 },
  ];
  await show(...rows);
  await act(async () => box("Select A").click());
  expect(chosen).toEqual({ A: true });
  await show(...rows);
  expect(box("Select A").checked).toBe(true);
  expect(box("Select all")).toMatchObject({ checked: false, indeterminate: true });
  await act(async () => box("Select all").click());
  expect(chosen).toEqual({ A: true, B: true });
  await show(...rows);
  expect(box("Select all")).toMatchObject({ checked: true, indeterminate: false });
  await act(async () => box("Select all").click());
  expect(chosen).toEqual({});
});

test("j and k lead through all tables of a screen, one after the other", () => {
  listenToKeyboard();
  const opened: string[] = [];
  const press = (key: string) =>
    act(() => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })));
  function Screen(): ReactNode {
    const [current, setCurrent] = useState<string>();
    const open = (id: string) => {
      opened.push(id);
      setCurrent(id);
    };
    const columns: Column<Row>[] = [{ id: "done", header: "Done", cell: (row) => row.done }];
    return (
      <>
        <DataTable<Row> label="Waiting" rows={[{ id: "a", done: 0 }]} columns={columns} current={current} open={open} />
        <DataTable<Row> label="Figures" rows={[{ id: "-", done: 0 }]} columns={columns} />
        <DataTable<Row> label="Ended" rows={[{ id: "b", done: 1 }]} columns={columns} current={current} open={open} />
      </>
    );
  }
  act(() => root.render(<Screen />));
  for (const key of ["j", "j", "j", "k"]) press(key);
  expect(opened).toEqual(["a", "b", "b", "a"]);
});
