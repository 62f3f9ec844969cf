/** Tables: sorting and exporting, in English. */

export const tables = {
  sortBy: "Sort by",
  ascending: "ascending",
  descending: "descending",
  standardOrder: "Default order",
  exportOf: (table: string) => `Export: ${table}`,
  exportAs: (table: string, format: string) => `Export ${table} as ${format}`,
  exported: (rows: string) => `Exported ${rows} rows`,
  cut: "There are more rows than an export may have. Narrow the search to get the others.",
};
