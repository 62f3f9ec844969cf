/** The queue: the job that is active, those that wait in order, and those that have ended. */
import { useSearch } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense, useState } from "react";
import { useMay } from "@/app/context";
import { usePageTitle } from "@/app/page-title";
import { useChange } from "@/app/use-change";
import { useOpenJobs } from "@/farm/open-jobs";
import { useText } from "@/lib/i18n/i18n";
import { useEscape, useKeys } from "@/lib/keys/use-keys";
import { Button } from "@/ui/button";
import type { Chosen } from "@/ui/data-table";
import { FilterField } from "@/ui/field";
import { Page } from "@/ui/page";
import { Part } from "@/ui/part";
import { SearchBox } from "@/ui/search-box";
import { BulkActions } from "./actions";
import { Active } from "./active";
import { History } from "./history";
import { JobPanel } from "./job-panel";
import { ENDED, type QueueSearch } from "./search";
import { Waiting } from "./waiting";

const NewJob = lazy(() => import("./new-job").then((module) => ({ default: module.NewJob })));

export function Queue(): ReactNode {
  const t = useText();
  const search = useSearch({ from: "/inside/queue" });
  const mayCreate = useMay("create-job");
  const mayChange = useMay("change-job");
  const { active, waiting } = useOpenJobs();
  const [chosen, setChosen] = useState<Chosen>({});
  usePageTitle(t.queue.title);
  const change = useChange<QueueSearch>("/queue");
  const open = (job: string) => change({ job, at: undefined });
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
          <Part
            title={t.queue.waiting}
            count={waiting.length}
            aside={selected.length > 0 && <BulkActions jobs={selected} done={() => setChosen({})} />}
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
              <div className="flex gap-2 max-sm:w-full">
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
              </div>
            }
          >
            <History search={search} open={open} />
          </Part>
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
