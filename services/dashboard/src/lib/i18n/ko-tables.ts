/** Tables: sorting and exporting, in Korean. */
import type { tables as en } from "./en-tables";

export const tables: typeof en = {
  sortBy: "정렬",
  ascending: "오름차순",
  descending: "내림차순",
  standardOrder: "기본 순서",
  exportOf: (table) => `내보내기: ${table}`,
  exportAs: (table, format) => `${table}: ${format} 내보내기`,
  exported: (rows) => `${rows}행을 내보냈습니다`,
  cut: "내보낼 수 있는 행 수보다 많습니다. 나머지는 검색을 좁혀서 내보내세요.",
};
