/**
 * Lines and columns over time. Drawn by uPlot, in the colours of the page. The values of a point are shown at the pointer,
 * and by the arrow keys, which screen readers read out.
 */
import { type KeyboardEvent, type ReactNode, type RefObject, useEffect, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useFormat } from "@/lib/time/format";
import { lonely, type Mark, marksIn, nearest, pointAfter, type Span } from "./chart-points";
import { useChartText } from "./chart-text";

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
  /** From one time to the next, in seconds. */
  readonly stepS: number;
  readonly height: number;
  readonly format: (value: number) => string;
  /** The axis goes up to this at least, so that little noise does not look like a storm. */
  readonly least: number;
  /** What of a stacked value is the series' own. */
  readonly own?: (series: number, value: number, at: number) => number;
  /** Where nothing was recorded. */
  readonly gaps?: readonly Span[];
  readonly marks?: readonly Mark[];
}

interface Drawn extends ChartProps {
  readonly formatTime: (second: number) => string;
  /** Of a point: its time, and what it says. */
  readonly said: (at: number) => { readonly time: string; readonly lines: readonly string[] };
}

/** Half as wide as a time on the axis. */
const EDGE = 12;
const DOT = 2.5;
/** Between the stripes of a gap. */
const STRIPES = 8;
const NONE: readonly never[] = [];

export function Chart(props: ChartProps): ReactNode {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);
  const { moment } = useFormat();
  const { charts } = useChartText();
  /** The time of the point that the keyboard has chosen. */
  const [chosen, setChosen] = useState<number | null>(null);
  const drawn: Drawn = {
    ...props,
    formatTime: (second) => moment(second * 1000),
    said: (at) => said(props, at, (second) => moment(second * 1000), charts.noData),
  };
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

  // biome-ignore lint/correctness/useExhaustiveDependencies: gaps and marks are drawn with the data
  useEffect(() => plot.current?.setData(props.data), [props.data, props.gaps, props.marks]);

  const times = props.data[0];
  const last = times.length - 1;
  const at = chosen === null ? last : nearest(times, chosen);
  const time = times[at];
  useEffect(() => {
    if (chosen !== null && time !== undefined) point(plot, time);
  }, [chosen, time]);

  function leave(): void {
    setChosen(null);
    plot.current?.setCursor({ left: -10, top: -10 });
  }

  function onKeyDown(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && chosen !== null) leave();
    else {
      const next = pointAfter(event.key, at, times.length);
      const there = next === null ? undefined : times[next];
      if (there === undefined) return;
      setChosen(there);
    }
    event.preventDefault();
    event.stopPropagation();
  }

  const { time: when, lines } = drawn.said(Math.max(0, at));
  return (
    <div
      ref={place}
      role="slider"
      tabIndex={0}
      aria-label={props.label}
      aria-valuemin={0}
      aria-valuemax={Math.max(0, last)}
      aria-valuenow={Math.max(0, at)}
      aria-valuetext={last < 0 ? charts.noData : `${when}: ${lines.join(", ")}`}
      className="rounded-sm"
      style={{ height: props.height }}
      onFocus={(event) => {
        if (event.currentTarget.matches(":focus-visible") && last >= 0) setChosen(times[last] ?? null);
      }}
      onBlur={leave}
      onKeyDown={onKeyDown}
    />
  );
}

function point(plot: RefObject<uPlot | null>, time: number): void {
  plot.current?.setCursor({ left: plot.current.valToPos(time, "x"), top: 0 });
}

function said(chart: ChartProps, at: number, formatTime: (second: number) => string, noData: string) {
  const { series, data, format, own, stepS, marks = NONE } = chart;
  const time = data[0][at] ?? 0;
  const values = series.flatMap((one, index) => {
    const value = data[index + 1]?.[at];
    return value == null ? [] : [`${one.label} ${format(own?.(index, value, at) ?? value)}`];
  });
  const happened = marksIn(marks, time, stepS).map((mark) => mark.text);
  return { time: formatTime(time), lines: [...(values.length === 0 ? [noData] : values), ...happened] };
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
    cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
    scales: {
      // With the last step, which begins at the last time.
      x: { range: (_, min, max) => [min, max + latest.current.stepS] },
      y: { range: (_, __, max) => [0, Math.max(least, (max ?? 0) * 1.1)] },
    },
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
    plugins: [tip(latest), truth(latest, colour)],
  };
}

/** Draws what lines and columns cannot: where nothing was recorded, restarts, and points without neighbours. */
function truth(latest: { readonly current: Drawn }, colour: (name: string) => string): uPlot.Plugin {
  return {
    hooks: {
      drawClear: (plot) => {
        for (const gap of latest.current.gaps ?? NONE) drawGap(plot, gap, colour("--sunken"), colour("--line-strong"));
      },
      draw: (plot) => {
        for (const mark of latest.current.marks ?? NONE) drawMark(plot, mark, colour("--ink-3"));
        latest.current.series.forEach((one, index) => {
          const values = plot.data[index + 1];
          if (one.kind === "line" && values !== undefined) drawDots(plot, values, lonely(values), colour(one.colour));
        });
      },
    },
  };
}

function drawGap(plot: uPlot, gap: Span, fill: string, stroke: string): void {
  const { ctx, bbox } = plot;
  const left = Math.max(bbox.left, plot.valToPos(gap.from, "x", true));
  const right = Math.min(bbox.left + bbox.width, plot.valToPos(gap.to, "x", true));
  if (right <= left) return;
  const between = STRIPES * devicePixelRatio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, bbox.top, right - left, bbox.height);
  ctx.clip();
  ctx.fillStyle = fill;
  ctx.fillRect(left, bbox.top, right - left, bbox.height);
  ctx.strokeStyle = stroke;
  ctx.lineWidth = devicePixelRatio;
  ctx.beginPath();
  for (let x = left - bbox.height - ((left - bbox.height) % between); x < right; x += between) {
    ctx.moveTo(x, bbox.top + bbox.height);
    ctx.lineTo(x + bbox.height, bbox.top);
  }
  ctx.stroke();
  ctx.restore();
}

function drawMark(plot: uPlot, { at }: Mark, stroke: string): void {
  const { ctx, bbox } = plot;
  const x = Math.round(plot.valToPos(at, "x", true));
  if (x < bbox.left || x > bbox.left + bbox.width) return;
  const half = 4 * devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = stroke;
  ctx.fillStyle = stroke;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([half, half]);
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  ctx.beginPath();
  ctx.moveTo(x - half, bbox.top - half);
  ctx.lineTo(x + half, bbox.top - half);
  ctx.lineTo(x, bbox.top + half);
  ctx.fill();
  ctx.restore();
}

function drawDots(
  plot: uPlot,
  values: ArrayLike<number | null | undefined>,
  at: readonly number[],
  fill: string,
): void {
  const { ctx } = plot;
  ctx.save();
  ctx.fillStyle = fill;
  for (const index of at) {
    const x = plot.valToPos(plot.data[0][index] ?? 0, "x", true);
    const y = plot.valToPos(values[index] ?? 0, "y", true);
    ctx.beginPath();
    ctx.arc(x, y, DOT * devicePixelRatio, 0, 2 * Math.PI);
    ctx.fill();
  }
  ctx.restore();
}

/** The values under the pointer, or of the point that the keyboard has chosen. */
function tip(latest: { readonly current: Drawn }): uPlot.Plugin {
  const box = document.createElement("div");
  box.className =
    "pointer-events-none absolute z-20 hidden rounded-md border border-line bg-surface px-2 py-1 text-xs shadow-raised whitespace-nowrap";
  box.setAttribute("aria-hidden", "true");
  return {
    hooks: {
      init: (plot) => void plot.over.append(box),
      setCursor: (plot) => {
        const { idx, left } = plot.cursor;
        box.style.display = idx == null || left === undefined || left < 0 ? "none" : "block";
        if (idx == null || left === undefined) return;
        const { time, lines } = latest.current.said(idx);
        box.replaceChildren(line(time, "text-ink-3"), ...lines.map((text) => line(text)));
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
