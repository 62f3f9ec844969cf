/** The queue: the job that is active, those that wait in order, and those that have ended. */
import { useSearch } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense, useCallback, useState } from "react";
import { useIsReading, useMay } from "@/app/context";
import { ExportButton } from "@/app/export-button";
import { usePageTitle } from "@/app/page-title";
import { usePast } from "@/app/past";
import { useChange } from "@/app/use-change";
import { useOpenJobs } from "@/farm/open-jobs";
import { useText } from "@/lib/i18n/i18n";
import { useEscape, useKeys } from "@/lib/keys/use-keys";
import { sortText } from "@/lib/sort/sort";
import { Button } from "@/ui/button";
import type { Chosen } from "@/ui/data-table";
import { FilterField } from "@/ui/field";
import { Page } from "@/ui/page";
import { Part } from "@/ui/part";
import { SearchBox } from "@/ui/search-box";
import { BulkActions } from "./actions";
import { Active } from "./active";
import { History, historyExport } from "./history";
import { JobPanel } from "./job-panel";
import { ENDED, type QueueSearch } from "./search";
import { Waiting } from "./waiting";

const NewJob = lazy(() => import("./new-job").then((module) => ({ default: module.NewJob })));

export function Queue(): ReactNode {
  const t = useText();
  const search = useSearch({ from: "/inside/queue" });
  const past = usePast();
  const mayCreate = useMay("create-job");
  const mayChange = useMay("change-job");
  const { active, waiting } = useOpenJobs();
  const [chosen, setChosen] = useState<Chosen>({});
  usePageTitle(t.queue.title);
  const change = useChange<QueueSearch>("/queue");
  // The same function as long as nothing else changes: rows that are the same are not drawn anew.
  const open = useCallback((job: string) => change({ job, at: undefined }), [change]);
  // Draw the lists below only when the active job is known: it would push them down while somebody reads.
  const isEmptyYet = useIsReading() && active === undefined && waiting.length === 0;
  useKeys(mayCreate ? { n: () => change({ new: true }) } : {});
  useEscape(() => change({ job: undefined, at: undefined }));
  const selected = waiting.filter((job) => chosen[job.id]);

  return (
    <Page
      title={t.queue.title}
      tools={
        mayCreate && (
          <Button kind="primary" icon="plus" onClick={() => change({ new: true })}>
            {t.queue.newJob}
          </Button>
        )
      }
      panel={
        search.job !== undefined && (
          <JobPanel
            key={search.job}
            id={search.job}
            at={search.at}
            showAt={(at) => change({ at })}
            open={open}
            close={() => change({ job: undefined, at: undefined })}
          />
        )
      }
    >
      <div className="page-body">
        <div className="flex flex-col gap-6">
          <Part title={t.queue.active}>
            <Active job={active} waits={waiting.length > 0} open={open} />
          </Part>
          {isEmptyYet ? null : (
            <>
              <Part
                title={t.queue.waiting}
                count={waiting.length}
                aside={
                  <div className="flex flex-wrap gap-2">
                    {selected.length > 0 && <BulkActions jobs={selected} done={() => setChosen({})} />}
                    {waiting.length > 0 && (
                      <ExportButton of={t.queue.waiting} what={() => ({ name: "waiting-jobs", rows: waiting })} />
                    )}
                  </div>
                }
              >
                <Waiting
                  jobs={waiting}
                  current={search.job}
                  open={open}
                  selecting={mayChange ? { selected: chosen, onChange: setChosen } : undefined}
                />
              </Part>
              <Part
                title={t.queue.history}
                aside={
                  <div className="flex flex-wrap gap-2 max-sm:w-full">
                    <SearchBox
                      value={search.q ?? ""}
                      hint={t.queue.searchHint}
                      onChange={(q) => change({ q: q || undefined })}
                    />
                    <FilterField
                      label={t.queue.status}
                      className="w-36"
                      value={search.ended}
                      choices={ENDED}
                      labelOf={t.jobStatus}
                      onChange={(ended) => change({ ended })}
                    />
                    <ExportButton of={t.queue.history} what={() => historyExport(search, past)} />
                  </div>
                }
              >
                <History search={search} open={open} changeSort={(sort) => change({ order: sortText(sort) })} />
              </Part>
            </>
          )}
        </div>
      </div>
      <Suspense>
        {search.new && mayCreate && (
          <NewJob close={() => change({ new: undefined })} created={(job) => change({ new: undefined, job })} />
        )}
      </Suspense>
    </Page>
  );
}
