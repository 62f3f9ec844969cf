/** How far back the charts go. */
import type { ReactNode } from "react";
import { useChartText } from "@/ui/chart-text";
import { Segmented } from "@/ui/field";
import { RANGES, type Range } from "./search";
import { useRange } from "./use-range";

export function RangeChoice({ onChange }: { onChange: (range: Range) => void }): ReactNode {
  const { charts } = useChartText();
  return (
    <Segmented
      label={charts.range}
      value={useRange()}
      choices={RANGES.map((value) => ({ value, label: charts.ranges[value] }))}
      onChange={onChange}
    />
  );
}
