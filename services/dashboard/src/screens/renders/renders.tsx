/** The render queue: what is being rendered, what waits, what has ended; and which field goes to which layer. */
import { useSearch } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense, useMemo, useState } from "react";
import { useMay } from "@/app/context";
import { ExportButton } from "@/app/export-button";
import { usePageTitle } from "@/app/page-title";
import { usePast } from "@/app/past";
import { type Change, useChange } from "@/app/use-change";
import { useText } from "@/lib/i18n/i18n";
import { useEscape, useKeys } from "@/lib/keys/use-keys";
import { ENDED_STATUSES } from "@/lib/rest/render-rows";
import { orderOf, sortIn, sortText } from "@/lib/sort/sort";
import { Button } from "@/ui/button";
import type { Chosen } from "@/ui/data-table";
import { FilterField, Segmented, SelectField } from "@/ui/field";
import { More } from "@/ui/more";
import { Page } from "@/ui/page";
import { Part } from "@/ui/part";
import { SearchBox } from "@/ui/search-box";
import { Empty, Loading, Unread } from "@/ui/states";
import { BulkCancel } from "./actions";
import { useCompositions } from "./compositions";
import { Ended, EndedTable } from "./ended";
import { endedQuery } from "./ended-query";
import { Figures } from "./figures";
import { isCut, useOpenRenders } from "./open-renders";
import { hasEnded, usePastRenders } from "./past-renders";
import { isUnderWay, type Render } from "./render";
import { RenderPanel } from "./render-panel";
import { ENDED_SORTS, type RendersSearch } from "./search";
import { UnderWay } from "./under-way";
import { Waiting } from "./waiting";

const Mapping = lazy(() => import("./mapping").then((module) => ({ default: module.Mapping })));
const NewRender = lazy(() => import("./new-render").then((module) => ({ default: module.NewRender })));

const PAST_PAGE = 50;

export function Renders(): ReactNode {
  const t = useText();
  const search = useSearch({ from: "/inside/renders" });
  const past = usePast();
  const mayCreate = useMay("create-render");
  usePageTitle(t.renders.title);
  const change = useChange<RendersSearch>("/renders");
  useKeys(mayCreate ? { n: () => change({ new: true }) } : {});
  useEscape(() => change({ render: undefined }));
  const isMapping = search.view === "mapping" && past === null;
  return (
    <>
      {isMapping ? (
        <Suspense fallback={<Page title={t.renders.title}>{<Loading />}</Page>}>
          <Mapping
            chosen={search.map}
            choose={(map) => change({ map })}
            tools={<Tools isMapping change={change} mayCreate={mayCreate} />}
          />
        </Suspense>
      ) : past === null ? (
        <Present search={search} change={change} tools={<Tools change={change} mayCreate={mayCreate} />} />
      ) : (
        <PastQueue search={search} change={change} />
      )}
      <Suspense>
        {search.new && mayCreate && (
          <NewRender
            close={() => change({ new: undefined })}
            created={(render) => change({ new: undefined, view: undefined, render })}
          />
        )}
      </Suspense>
    </>
  );
}

function Tools({
  isMapping = false,
  change,
  mayCreate,
}: {
  isMapping?: boolean;
  change: Change<RendersSearch>;
  mayCreate: boolean;
}): ReactNode {
  const t = useText();
  return (
    <>
      <Segmented
        label={t.renders.view}
        value={isMapping ? "mapping" : "queue"}
        choices={[
          { value: "queue", label: t.renders.queue },
          { value: "mapping", label: t.renders.mapping },
        ]}
        onChange={(view) => change({ view: view === "mapping" ? "mapping" : undefined, render: undefined })}
      />
      {mayCreate && (
        <Button kind="primary" icon="plus" onClick={() => change({ new: true })}>
          {t.renders.newRender}
        </Button>
      )}
    </>
  );
}

interface ViewProps {
  readonly search: RendersSearch;
  readonly change: Change<RendersSearch>;
}

function Present({ search, change, tools }: ViewProps & { tools: ReactNode }): ReactNode {
  const t = useText();
  const mayChange = useMay("change-render");
  const answer = useOpenRenders();
  const { renders: known } = answer;
  const [chosen, setChosen] = useState<Chosen>({});
  const sort = useMemo(() => sortIn(search.order, ENDED_SORTS), [search.order]);
  const open = (render: string) => change({ render });
  const renders = known ?? [];
  const waiting = renders.filter((render) => render.status === "pending");
  const selected = waiting.filter((render) => chosen[render.id]);
  return (
    <Page title={t.renders.title} tools={tools} panel={<Panel search={search} change={change} renders={renders} />}>
      <div className="page-body">
        <div className="flex flex-col gap-6">
          <Figures waiting={known && waiting.length} isMore={isCut(known)} open={open} />
          <Part title={t.renders.underWay}>
            {known === undefined ? (
              <Unread of={answer} />
            ) : (
              <UnderWay
                renders={renders.filter(isUnderWay)}
                waits={waiting.length > 0}
                current={search.render}
                open={open}
              />
            )}
          </Part>
          <Part
            title={t.renders.waiting}
            count={waiting.length}
            aside={
              <div className="flex flex-wrap gap-2">
                {selected.length > 0 && <BulkCancel renders={selected} done={() => setChosen({})} />}
                {waiting.length > 0 && (
                  <ExportButton of={t.renders.waiting} what={() => ({ name: "waiting-renders", rows: waiting })} />
                )}
              </div>
            }
          >
            {known === undefined ? (
              <Loading isSmall />
            ) : (
              <Waiting
                renders={waiting}
                current={search.render}
                open={open}
                selecting={mayChange ? { selected: chosen, onChange: setChosen } : undefined}
              />
            )}
          </Part>
          <Part title={t.renders.endedTitle} aside={<Filters search={search} change={change} />}>
            <Ended
              filter={{ q: search.q, ended: search.ended, of: search.of, day: search.day }}
              sorting={{ sort, change: (next) => change({ order: sortText(next) }) }}
              current={search.render}
              open={open}
            />
          </Part>
        </div>
      </div>
    </Page>
  );
}

function Panel({ search, change, renders }: ViewProps & { renders: readonly Render[] }): ReactNode {
  const id = search.render;
  if (id === undefined) return null;
  return (
    <RenderPanel
      key={id}
      id={id}
      known={renders.find((render) => render.id === id)}
      close={() => change({ render: undefined })}
    />
  );
}

function Filters({ search, change }: ViewProps): ReactNode {
  const t = useText();
  const compositions = useCompositions().data ?? [];
  const isUnknown = search.of !== undefined && !compositions.some((one) => one.id === search.of);
  return (
    <div className="flex flex-wrap gap-2 max-sm:w-full max-sm:*:grow">
      <SearchBox
        value={search.q ?? ""}
        hint={t.renders.searchHint}
        className="w-60"
        onChange={(q) => change({ q: q || undefined })}
      />
      <SelectField
        label={t.renders.composition}
        isLabelHidden
        className="w-44"
        value={search.of ?? ""}
        choices={[
          { value: "", label: t.renders.allCompositions },
          ...(isUnknown ? [{ value: search.of ?? "", label: search.of ?? "" }] : []),
          ...compositions.map((one) => ({ value: one.id, label: one.name || one.id })),
        ]}
        onChange={(of) => change({ of: of || undefined })}
      />
      <input
        type="date"
        aria-label={t.renders.day}
        title={t.renders.day}
        value={search.day ?? ""}
        className="h-8 w-36 rounded-md border border-line-strong bg-surface px-2.5 text-sm pointer-coarse:h-9"
        onChange={(event) => change({ day: event.target.value || undefined })}
      />
      <FilterField
        label={t.renders.state}
        className="w-32"
        value={search.ended}
        choices={ENDED_STATUSES}
        labelOf={t.renders.status}
        onChange={(ended) => change({ ended })}
      />
      <ExportButton
        of={t.renders.endedTitle}
        what={() => ({
          relation: "render_queue",
          query: { ...endedQuery(search), order: orderOf(sortIn(search.order, ENDED_SORTS)) },
        })}
      />
    </div>
  );
}

function PastQueue({ search, change }: ViewProps): ReactNode {
  const t = useText();
  const answer = usePastRenders();
  const { renders } = answer;
  const open = (render: string) => change({ render });
  const waiting = renders?.filter((render) => render.status === "pending") ?? [];
  const ended = renders?.filter(hasEnded).reverse() ?? [];
  const [shown, setShown] = useState(PAST_PAGE);
  return (
    <Page title={t.renders.title} panel={<Panel search={search} change={change} renders={renders ?? []} />}>
      <div className="page-body">
        {renders === undefined ? (
          <Unread of={answer} isSmall={false} />
        ) : (
          <div className="flex flex-col gap-6">
            <Part title={t.renders.underWay}>
              <UnderWay
                renders={renders.filter(isUnderWay)}
                waits={waiting.length > 0}
                current={search.render}
                open={open}
              />
            </Part>
            <Part title={t.renders.waiting} count={waiting.length}>
              <Waiting renders={waiting} current={search.render} open={open} selecting={undefined} />
            </Part>
            <Part title={t.renders.endedWithinDay} count={ended.length}>
              {ended.length === 0 ? (
                <Empty isSmall title={t.renders.noneEnded} />
              ) : (
                <EndedTable renders={ended.slice(0, shown)} current={search.render} open={open} />
              )}
              {ended.length > shown && <More isBusy={false} show={() => setShown(shown + PAST_PAGE)} />}
            </Part>
          </div>
        )}
      </div>
    </Page>
  );
}
