/** How the farm is, at one look: what runs, what waits, what went wrong. */
import type { ReactNode } from "react";
import { usePageTitle } from "@/app/page-title";
import { usePast } from "@/app/past";
import { useText } from "@/lib/i18n/i18n";
import { Page } from "@/ui/page";
import { Delay, Pickup, Throughput } from "./charts";
import { Figures } from "./figures";
import { Platform } from "./platform";
import { Running, Waiting } from "./work";
import { Wrong } from "./wrong";

const TALL = 196;
const LOW = 132;

export function Overview(): ReactNode {
  const t = useText();
  const isPast = usePast() !== null;
  usePageTitle(t.overview.title);
  return (
    <Page title={t.overview.title}>
      <div className="page-body">
        <div className="mx-auto flex max-w-[100rem] flex-col gap-4">
          <Figures />
          <div className="grid gap-4 xl:grid-cols-[2fr_1fr]">
            <Running />
            <Waiting />
          </div>
          <div className="grid gap-4 xl:grid-cols-[2fr_1fr]">
            <Throughput height={TALL} />
            <Wrong />
          </div>
          {/* These are measured, not recorded: of the past nobody can tell them. */}
          {!isPast && (
            <div className="grid gap-4 md:grid-cols-2 xl:grid-cols-3">
              <Pickup height={LOW} />
              <Delay height={LOW} />
              <Platform height={LOW} />
            </div>
          )}
        </div>
      </div>
    </Page>
  );
}
