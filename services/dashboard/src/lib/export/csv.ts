/** Rows that are all in this page, as a file. The same rules as the server's (`web/export_formats.py`). */

const BOM = "\ufeff";
/** A spreadsheet would calculate a text that begins so. The last four are full-width, as Korean keyboards write them. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;
const NUMBER = /^[+-]?[0-9]+(\.[0-9]+)?$/;

export function cell(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const said = typeof value === "string" ? value : JSON.stringify(value);
  const text = FORMULA.test(said) && !NUMBER.test(said) ? `'${said}` : said;
  return /[",\r\n]|^ | $/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csvOf(rows: readonly object[]): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const line = (values: readonly unknown[]) => `${values.map(cell).join(",") || '""'}\r\n`;
  const lines = rows.map((row) => line(columns.map((column) => (row as Record<string, unknown>)[column])));
  return `${BOM}${line(columns)}${lines.join("")}`;
}

export function jsonOf(rows: readonly object[]): string {
  return `${JSON.stringify(rows, null, 1)}\n`;
}
