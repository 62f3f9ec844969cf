/** How the farm is, at one look: what runs, what waits, what went wrong. */
import { lazy, type ReactNode, Suspense } from "react";
import { usePageTitle } from "@/app/page-title";
import { useChange } from "@/app/use-change";
import { useText } from "@/lib/i18n/i18n";
import { Page } from "@/ui/page";
import { Figures } from "./figures";
import { RangeChoice } from "./range-choice";
import { DEFAULT_RANGE, type OverviewSearch } from "./search";
import { Running, Waiting } from "./work";
import { Wrong } from "./wrong";

/** Drawing takes more code than all the rest: what runs and what is wrong does not wait for it. */
const charts = () => import("./charts");
const Throughput = lazy(() => charts().then((module) => ({ default: module.Throughput })));
const LowCharts = lazy(() => charts().then((module) => ({ default: module.LowCharts })));

const TALL = 196;
const LOW = 132;
/** Of a card around a chart. */
const FRAME = 66;

export function Overview(): ReactNode {
  const t = useText();
  const change = useChange<OverviewSearch>("/");
  usePageTitle(t.overview.title);
  return (
    <Page
      title={t.overview.title}
      tools={<RangeChoice onChange={(range) => change({ range: range === DEFAULT_RANGE ? undefined : range })} />}
    >
      <div className="page-body">
        <div className="mx-auto flex max-w-[100rem] flex-col gap-4">
          <Figures />
          <div className="grid gap-4 xl:grid-cols-[2fr_1fr]">
            <Running />
            <Waiting />
          </div>
          <div className="grid gap-4 xl:grid-cols-[2fr_1fr]">
            <Suspense fallback={<Place height={TALL} />}>
              <Throughput height={TALL} />
            </Suspense>
            <Wrong />
          </div>
          <div className="grid gap-4 md:grid-cols-2 xl:grid-flow-col xl:auto-cols-fr xl:grid-cols-none">
            <Suspense fallback={<Place height={LOW} />}>
              <LowCharts height={LOW} />
            </Suspense>
          </div>
        </div>
      </div>
    </Page>
  );
}

/** As high as what will stand here, so that nothing moves. */
function Place({ height }: { height: number }): ReactNode {
  return <div className="card" style={{ height: height + FRAME }} />;
}
