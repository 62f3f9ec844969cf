/** The slider over the dashboard: drag it, and what is below shows that moment. */
import { useIsFetching, useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { useApp } from "@/app/context";
import { type Past, usePast } from "@/app/past";
import { useMoment } from "@/app/use-moment";
import { alertTitle } from "@/farm/alert-text";
import { useErrorText } from "@/lib/errors/error-text";
import { useText } from "@/lib/i18n/i18n";
import { useKeys } from "@/lib/keys/use-keys";
import { isBusy, StillComputing } from "@/lib/past/moments";
import { useWidth } from "@/lib/react/use-width";
import { rows } from "@/lib/rest/read";
import type { AlertRow } from "@/lib/rest/rows";
import { useFormat } from "@/lib/time/format";
import { useRealNow } from "@/lib/time/use-now";
import { Button, IconButton } from "@/ui/button";
import { Segmented } from "@/ui/field";
import { Icon } from "@/ui/icon";
import { Computing } from "./computing";
import {
  CLOSEST,
  fromLocalText,
  localText,
  marksOf,
  pastMoment,
  RANGES,
  type Range,
  rangeFor,
  type Scale,
  scaleOf,
  snap,
  ticksOf,
} from "./scale";
import "./time-machine.css";
import { useTravel } from "@/app/use-travel";

/** The right end of the slider is now: it goes on so often. */
const MOVE_EVERY_MS = 5_000;
/** While it is dragged: so long between two moments that are asked for. */
const REST_MS = 120;
const MARKS_MAX = 500;
/** What a finger can hit: marks closer than this are one. */
const MARK_PX = 26;
const DAY_MS = 86_400_000;

export function TimeMachine({ close }: { close: () => void }): ReactNode {
  const past = usePast();
  const travel = useTravel();
  const now = useRealNow(MOVE_EVERY_MS);
  const [range, setRange] = useState<Range>(() => (past === null ? "hour" : rangeFor(past.at, Date.now())));
  const scale = useMemo(() => scaleOf(range, now), [range, now]);
  const go = (at: number) => travel(pastMoment(at, Date.now()) ?? undefined);
  const hand = useHand(past?.at ?? scale.to, go);
  const step = (by: number) => hand.move(snap(scale, hand.at + by * scale.stepMs));
  useKeys({ "[": () => step(-1), "]": () => step(1) });
  const t = useText();
  return (
    <section aria-label={t.past.name} className="border-b border-line bg-surface">
      {past !== null && <Banner past={past} now={now} back={() => travel(undefined)} />}
      <div className="flex items-center gap-3 px-6 pt-2 pb-1.5 max-lg:flex-wrap max-lg:justify-between max-sm:px-4">
        <Segmented
          label={t.past.range}
          value={range}
          choices={RANGES.map((value) => ({ value, label: t.past.ranges[value] }))}
          onChange={setRange}
        />
        <div className="flex min-w-0 flex-1 items-center gap-3 max-lg:order-last max-lg:basis-full max-sm:gap-1">
          <IconButton icon="left" label={`${t.past.earlier} [`} onClick={() => step(-1)} />
          <Slider scale={scale} hand={hand} go={go} />
          <IconButton icon="right" label={`${t.past.later} ]`} disabled={past === null} onClick={() => step(1)} />
        </div>
        <Exact at={past?.at ?? now} isPast={past !== null} go={go} />
        <IconButton icon="close" label={t.past.close} onClick={close} />
      </div>
    </section>
  );
}

function Banner({ past, now, back }: { past: Past; now: number; back: () => void }): ReactNode {
  const t = useText();
  const format = useFormat();
  const errorText = useErrorText();
  const { error, failureReason, isFetching, refetch } = useMoment("fleet", past);
  return (
    <div
      role="status"
      className="flex min-h-10 flex-wrap items-center gap-x-3 gap-y-1 bg-held-soft px-6 py-1 text-sm text-held-ink max-sm:px-4"
    >
      <Icon name="past" />
      <strong className="font-semibold">{t.past.banner}</strong>
      <span className="font-medium">{format.full(past.at)}</span>
      <span>({format.ago(past.at, now)})</span>
      <span
        className={`min-w-0 flex-1 md:truncate ${error === null && !isFetching ? "max-sm:hidden" : "max-sm:basis-full"}`}
      >
        {error !== null ? (
          errorText(error)
        ) : !isFetching ? (
          t.past.bannerHint
        ) : failureReason instanceof StillComputing ? (
          <Computing share={failureReason.share} />
        ) : isBusy(failureReason) ? (
          t.past.busy
        ) : (
          t.past.loading
        )}
      </span>
      {error !== null && (
        <Button className="h-7" onClick={() => void refetch()}>
          {t.common.retry}
        </Button>
      )}
      <Button className="ml-auto h-7" icon="play" onClick={back}>
        {t.past.back}
      </Button>
    </div>
  );
}

function Slider({ scale, hand, go }: { scale: Scale; hand: Hand; go: (at: number) => void }): ReactNode {
  const t = useText();
  const format = useFormat();
  const track = useRef<HTMLDivElement>(null);
  const width = useWidth(track);
  const value = hand.at;
  const ticks = ticksOf(scale);
  const isNow = value >= scale.to;
  const day = useMemo(() => new Intl.DateTimeFormat(t.locale, { weekday: "short", day: "numeric" }), [t]);
  const tickText = (tick: number) => (scale.tickMs >= DAY_MS ? day.format(tick) : format.clock(tick).slice(0, 5));
  const place = (moment: number) => ({ "--share": (moment - scale.from) / (scale.to - scale.from) }) as never;
  return (
    <div className="slider">
      <div className="slider-track" ref={track} />
      <div className="slider-past" style={place(Math.max(scale.from, value))} />
      <Marks scale={scale} go={go} closest={width === 0 ? CLOSEST : Math.max(CLOSEST, MARK_PX / width)} />
      <input
        type="range"
        className="slider-input"
        aria-label={t.past.slider}
        title={t.past.drag}
        aria-valuetext={isNow ? t.past.now : format.full(value)}
        min={scale.from}
        max={scale.to}
        step={scale.stepMs}
        value={Math.max(scale.from, value)}
        onChange={(event) => hand.move(snap(scale, Number(event.target.value)))}
        onPointerUp={hand.rest}
      />
      {ticks.map((tick) => (
        <span key={tick} className="slider-tick" style={place(tick)}>
          {tickText(tick)}
        </span>
      ))}
      {!isNow && (
        <output className="slider-tip" style={place(Math.max(scale.from, value))}>
          {format.clock(value)}
        </output>
      )}
    </div>
  );
}

interface Hand {
  /** Where it is: the page may be a little behind. */
  readonly at: number;
  readonly move: (at: number) => void;
  /** It is let go: what is there now is what is wanted. */
  readonly rest: () => void;
}

/** What is under the hand now. The page follows as fast as moments are read, one at a time: the server folds few. */
function useHand(at: number, go: (at: number) => void): Hand {
  const [held, setHeld] = useState<number | null>(null);
  const latest = useRef(go);
  latest.current = go;
  const wanted = useRef(held);
  wanted.current = held;
  const isReading = useIsFetching({ queryKey: ["moment"] }) > 0;
  const isMoving = held !== null && held !== at;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a moment that is known is not read, but gone to
  useEffect(() => {
    if (!isMoving || isReading) return;
    const timer = setTimeout(() => wanted.current !== null && latest.current(wanted.current), REST_MS);
    return () => clearTimeout(timer);
  }, [isMoving, isReading, at]);
  // The address has caught up with the hand.
  useEffect(() => setHeld((before) => (before === at ? null : before)), [at]);
  const rest = () => {
    if (held === null) return;
    latest.current(held);
    setHeld(null);
  };
  return { at: held ?? at, move: setHeld, rest };
}

function Marks({ scale, go, closest }: { scale: Scale; go: (at: number) => void; closest: number }): ReactNode {
  const t = useText();
  const format = useFormat();
  const { client } = useApp();
  const since = Math.floor(scale.from / scale.tickMs) * scale.tickMs;
  const { data } = useQuery({
    queryKey: ["alert-marks", since],
    queryFn: () => {
      const raised_at = `gte.${new Date(since).toISOString()}`;
      return rows<AlertRow>(client, "alerts", { raised_at, order: "raised_at.desc", limit: MARKS_MAX });
    },
    placeholderData: (before) => before,
  });
  const marks = useMemo(() => marksOf(scale, data ?? [], closest), [scale, data, closest]);
  return marks.map((mark) => {
    const [first] = mark.alerts;
    const text = mark.alerts.length > 1 ? t.past.alerts(mark.alerts.length) : alertTitle(t, first?.kind ?? "");
    return (
      <button
        key={mark.at}
        type="button"
        className="slider-mark"
        style={{ "--share": mark.share } as never}
        title={t.past.alert(text, format.clock(mark.at))}
        aria-label={t.past.alert(text, format.clock(mark.at))}
        // Moments have milliseconds, the log has microseconds: just after it, or the alert would not be there yet.
        onClick={() => go(mark.at + 1)}
      />
    );
  });
}

/** To the second, for whoever knows when it was. */
function Exact({ at, isPast, go }: { at: number; isPast: boolean; go: (at: number) => void }): ReactNode {
  const t = useText();
  const [text, setText] = useState<string | null>(null);
  const write = () => {
    const moment = text === null ? null : fromLocalText(text);
    setText(null);
    if (moment !== null && moment < Date.now()) go(moment);
  };
  return (
    <input
      type="datetime-local"
      step={1}
      aria-label={t.past.goTo}
      title={t.past.goTo}
      value={text ?? localText(Math.floor(at / 1000) * 1000)}
      max={localText(Date.now())}
      className={`h-8 w-56 shrink-0 rounded-md pointer-coarse:h-9 max-lg:order-last max-sm:w-full border border-line-strong bg-surface px-2 text-sm ${isPast ? "" : "text-ink-3"}`}
      onChange={(event) => setText(event.target.value)}
      onBlur={write}
      onKeyDown={(event) => event.key === "Enter" && write()}
    />
  );
}
