// @vitest-environment happy-dom
/** A live table: rows come, go and change, and what somebody has in hand stays the same element. */
import { act, type ReactNode, useState } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, test } from "vitest";
import { en } from "@/lib/i18n/en";
import { LanguageProvider } from "@/lib/i18n/i18n";
import { listenToKeyboard } from "@/lib/keys/use-keys";
import type { Sort } from "@/lib/sort/sort";
import { type Chosen, type Column, DataTable, sortedBy } from "./data-table";

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

function Sorted({ rows }: { rows: readonly Row[] }): ReactNode {
  const [sort, setSort] = useState<Sort>();
  const columns: Column<Row>[] = [
    {
      id: "done",
      header: "Done",
      sort: { by: "done", isDownFirst: true, value: (row) => row.done },
      cell: (row) => row.done,
    },
    { id: "name", header: "Name", cell: (row) => row.id },
  ];
  return (
    <LanguageProvider first={en}>
      <DataTable
        label="Jobs"
        columns={columns}
        rows={sortedBy(rows, columns, sort)}
        sorting={{ sort, change: setSort }}
      />
    </LanguageProvider>
  );
}

test("the head of a column sorts by it, the other way, and not at all; who hears the page is told", async () => {
  const rows = [
    { id: "A", done: 2 },
    { id: "B", done: 10 },
    { id: "C", done: 1 },
  ];
  await act(async () => root.render(<Sorted rows={rows} />));
  const head = () => document.querySelector("th") as HTMLElement;
  const names = () => cells().join("");
  const press = () => act(async () => head().querySelector("button")?.click());
  expect([head().getAttribute("aria-sort"), names()]).toEqual(["none", "ABC"]);
  await press();
  expect([head().getAttribute("aria-sort"), names()]).toEqual(["descending", "BAC"]);
  await press();
  expect([head().getAttribute("aria-sort"), names()]).toEqual(["ascending", "CAB"]);
  await press();
  expect([head().getAttribute("aria-sort"), names()]).toEqual(["none", "ABC"]);
  expect(document.querySelectorAll("th")[1]?.hasAttribute("aria-sort"), "it cannot be sorted by").toBe(false);
});

test("where heads have no room, a choice sorts", async () => {
  const rows = [
    { id: "A", done: 2 },
    { id: "B", done: 1 },
  ];
  await act(async () => root.render(<Sorted rows={rows} />));
  const choice = document.querySelector("select") as HTMLSelectElement;
  expect([...choice.options].map((one) => one.textContent)).toEqual([
    "Default order",
    "Done, ascending",
    "Done, descending",
  ]);
  await act(async () => {
    choice.value = "0";
    choice.dispatchEvent(new Event("change", { bubbles: true }));
  });
  expect(cells().join("")).toBe("BA");
});

test("where the columns stay the same, opening a row draws that one and the one before it, and selecting knows the latest", async () => {
  const drawn: string[] = [];
  const columns: Column<Row>[] = [
    {
      id: "name",
      header: "Name",
      cell: (row) => {
        drawn.push(row.id);
        return row.id;
      },
    },
  ];
  const rows = ["A", "B", "C", "D"].map((id) => ({ id, done: 0 }));
  const open = () => {};
  const selecting = (selected: Chosen) => ({
    selected,
    onChange: (now: Chosen) => {
      chosen = now;
    },
    selectAll: "Select all",
    select: (row: Row) => `Select ${row.id}`,
  });
  const draw = async (current: string | undefined) => {
    drawn.length = 0;
    await act(async () =>
      root.render(
        <DataTable<Row>
          label="Jobs"
          rows={rows}
          columns={columns}
          open={open}
          current={current}
          selecting={selecting(chosen)}
        />,
      ),
    );
    return [...drawn];
  };
  expect(await draw(undefined)).toEqual(["A", "B", "C", "D"]);
  expect(await draw("B")).toEqual(["B"]);
  expect(await draw("C")).toEqual(["B", "C"]);
  await act(async () => box("Select A").click());
  expect(await draw("C")).toEqual(["A"]);
  await act(async () => box("Select D").click()); // its row was not drawn anew since A was selected
  expect(chosen).toEqual({ A: true, D: true });
});
