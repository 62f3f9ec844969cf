/** Lines and columns over time. Drawn by uPlot, in the colours of the page. */
import { type ReactNode, useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useFormat } from "@/lib/time/format";

export interface ChartSeries {
  readonly label: string;
  /** A colour of the page: `--busy`. */
  readonly colour: string;
  readonly kind: "columns" | "line";
}

export interface ChartProps {
  /** What it shows, for those who do not see it. */
  readonly label: string;
  readonly series: readonly ChartSeries[];
  /** Times first, then a column for each series. */
  readonly data: uPlot.AlignedData;
  readonly height: number;
  readonly format: (value: number) => string;
  /** The axis goes up to this at least, so that little noise does not look like a storm. */
  readonly least: number;
  /** What of a stacked value is the series' own. */
  readonly own?: (series: number, value: number, at: number) => number;
}

interface Drawn extends ChartProps {
  readonly formatTime: (second: number) => string;
}

/** Half as wide as a time on the axis. */
const EDGE = 12;

export function Chart(props: ChartProps): ReactNode {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);
  const { moment } = useFormat();
  const drawn: Drawn = { ...props, formatTime: (second) => moment(second * 1000) };
  const latest = useRef(drawn);
  latest.current = drawn;
  // What makes another chart of it; new data does not.
  const shape = JSON.stringify([props.series, props.height, props.least]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: it is made anew when its shape changes
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const draw = () => {
      plot.current?.destroy();
      plot.current = new uPlot(options(latest, element), latest.current.data, element);
    };
    draw();
    const resize = new ResizeObserver(() =>
      plot.current?.setSize({ width: element.clientWidth, height: props.height }),
    );
    resize.observe(element);
    const theme = new MutationObserver(draw);
    theme.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    return () => {
      resize.disconnect();
      theme.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shape]);

  useEffect(() => plot.current?.setData(props.data), [props.data]);

  return <div ref={place} role="img" aria-label={props.label} style={{ height: props.height }} />;
}

function options(latest: { readonly current: Drawn }, element: HTMLElement): uPlot.Options {
  const { series, height, least } = latest.current;
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const font = `11px ${getComputedStyle(document.body).fontFamily}`;
  const axis: uPlot.Axis = {
    stroke: colour("--ink-3"),
    font,
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
  };
  return {
    width: element.clientWidth,
    height,
    padding: [8, 4, 0, 0],
    legend: { show: false },
    cursor: { points: { size: 6 }, drag: { x: false, y: false } },
    scales: { y: { range: (_, __, max) => [0, Math.max(least, (max ?? 0) * 1.1)] } },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 26,
        space: 90,
        // Half a time at the edge is worse than none.
        values: (plot, seconds) =>
          seconds.map((s) =>
            plot.valToPos(s, "x") > plot.over.clientWidth - EDGE ? "" : latest.current.formatTime(s),
          ),
      },
      { ...axis, size: 46, space: 28, values: (_, values) => values.map((v) => latest.current.format(v)) },
    ],
    series: [
      {},
      ...series.map((one): uPlot.Series => {
        const stroke = colour(one.colour);
        const base = { label: one.label, stroke, points: { show: false }, spanGaps: false };
        if (one.kind === "line") return { ...base, width: 1.5 };
        const { bars } = uPlot.paths;
        return { ...base, fill: stroke, width: 0, ...(bars ? { paths: bars({ size: [0.75, 14], align: 1 }) } : {}) };
      }),
    ],
    plugins: [tip(latest)],
  };
}

/** The values under the pointer. */
function tip(latest: { readonly current: Drawn }): uPlot.Plugin {
  const box = document.createElement("div");
  box.className =
    "pointer-events-none absolute z-20 hidden rounded-md border border-line bg-surface px-2 py-1 text-xs shadow-raised whitespace-nowrap";
  return {
    hooks: {
      init: (plot) => void plot.over.append(box),
      setCursor: (plot) => {
        const { idx, left } = plot.cursor;
        box.style.display = idx == null || left === undefined || left < 0 ? "none" : "block";
        if (idx == null || left === undefined) return;
        const { series, data, format, formatTime, own } = latest.current;
        const lines = series.map((one, index) => {
          const value = data[index + 1]?.[idx];
          return value == null ? null : line(`${one.label} ${format(own?.(index, value, idx) ?? value)}`);
        });
        box.replaceChildren(
          line(formatTime(data[0]?.[idx] ?? 0), "text-ink-3"),
          ...lines.filter((one) => one !== null),
        );
        const isRight = left > plot.over.clientWidth / 2;
        box.style.left = isRight ? "" : `${left + 12}px`;
        box.style.right = isRight ? `${plot.over.clientWidth - left + 12}px` : "";
        box.style.top = "4px";
      },
    },
  };
}

function line(text: string, className = ""): HTMLElement {
  const element = document.createElement("div");
  element.textContent = text;
  element.className = className;
  return element;
}
