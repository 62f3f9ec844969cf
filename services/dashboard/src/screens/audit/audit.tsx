/** Who read what is sensitive, who signed in, and who changed what, from where. For administrators. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { type ReactNode, useMemo } from "react";
import { useApp, useMay } from "@/app/context";
import { ExportButton } from "@/app/export-button";
import { usePageTitle } from "@/app/page-title";
import { useChange } from "@/app/use-change";
import type { AuditEntry, Person } from "@/lib/api/schema";
import { sortIn, sortText } from "@/lib/sort/sort";
import { useFormat } from "@/lib/time/format";
import { useAccounts } from "@/screens/system/accounts";
import { type Column, DataTable, type Sorting } from "@/ui/data-table";
import { SelectField } from "@/ui/field";
import { NextPage } from "@/ui/more";
import { Page } from "@/ui/page";
import { Empty, Unread } from "@/ui/states";
import { Badge, type Tone } from "@/ui/status";
import { type AuditSearch, KINDS, type Kind, pathOf, queryOf, RANGES, type Range, SORTS } from "./search";
import { useAuditText } from "./words";

interface AuditPage {
  readonly items: readonly AuditEntry[];
  readonly next: string | null;
}

const EVERYBODY = "";
const PROGRAMS = "service_role";

export function Audit(): ReactNode {
  const t = useAuditText();
  const maySee = useMay("see-audit");
  const search = useSearch({ from: "/inside/audit" });
  const change = useChange<AuditSearch>("/audit");
  const accounts = useAccounts(maySee).data;
  usePageTitle(t.audit.title);
  if (!maySee) {
    return (
      <Page title={t.audit.title}>
        <Empty icon="key" title={t.audit.adminsOnly} />
      </Page>
    );
  }
  return (
    <Page
      title={t.audit.title}
      tools={
        <>
          <SelectField
            isLabelHidden
            className="w-52 max-sm:grow"
            label={t.audit.who}
            value={search.by ?? EVERYBODY}
            choices={people(accounts ?? [], search.by, t.audit.everybody, t.audit.programs)}
            onChange={(by) => change({ by: by === EVERYBODY ? undefined : by })}
          />
          <SelectField<Kind | "all">
            isLabelHidden
            className="w-40 max-sm:grow"
            label={t.audit.kind}
            value={search.kind ?? "all"}
            choices={[
              { value: "all", label: t.audit.everyKind },
              ...KINDS.map((value) => ({ value, label: t.audit.kinds[value] })),
            ]}
            onChange={(kind) => change({ kind: kind === "all" ? undefined : kind })}
          />
          <SelectField<Range | "all">
            isLabelHidden
            className="w-40 max-sm:grow"
            label={t.audit.time}
            value={search.range ?? "all"}
            choices={[
              { value: "all", label: t.audit.anyTime },
              ...RANGES.map((value) => ({ value, label: t.audit.ranges[value] })),
            ]}
            onChange={(range) => change({ range: range === "all" ? undefined : range })}
          />
          <ExportButton
            of={t.audit.title}
            what={() => ({ path: "/api/audit/export", query: queryOf(search, Date.now()) })}
          />
        </>
      }
    >
      {/* Nothing in it takes the focus, so it must itself: otherwise nobody could scroll it with the keyboard. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls */}
      <section className="page-body" tabIndex={0} aria-label={t.audit.title}>
        <p className="mb-3 max-w-5xl text-sm text-ink-3">{t.audit.lead}</p>
        <div className="card @container overflow-hidden">
          <Entries
            search={search}
            nameOf={namesOf(accounts ?? [])}
            sorting={{ sort: sortIn(search.order, SORTS), change: (sort) => change({ order: sortText(sort) }) }}
          />
        </div>
      </section>
    </Page>
  );
}

function Entries({
  search,
  nameOf,
  sorting,
}: {
  search: AuditSearch;
  nameOf: (by: string) => string;
  sorting: Sorting;
}): ReactNode {
  const t = useAuditText();
  const format = useFormat();
  const { client } = useApp();
  const answer = useInfiniteQuery({
    queryKey: ["audit", search],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam }) => client.json<AuditPage>(pathOf(search, Date.now(), pageParam)),
    getNextPageParam: (page) => page.next,
    placeholderData: (before) => before,
  });
  const columns = useMemo(
    (): Column<AuditEntry>[] => [
      {
        id: "who",
        header: t.audit.who,
        className: "w-[22%]",
        isTitle: true,
        cell: (entry) => <span title={entry.by}>{nameOf(entry.by)}</span>,
      },
      {
        id: "kind",
        header: t.audit.kind,
        className: "w-36",
        cell: (entry) => <Badge tone={TONES[entry.kind]}>{t.audit.kinds[entry.kind]}</Badge>,
      },
      {
        id: "what",
        header: t.audit.what,
        cell: (entry) => (
          <span className="font-mono text-xs" title={entry.what}>
            {entry.what}
          </span>
        ),
      },
      {
        id: "address",
        header: t.audit.from,
        className: "w-40 text-ink-2",
        cell: (entry) => entry.address ?? t.common.unknown,
      },
      {
        id: "agent",
        header: t.audit.with,
        className: "w-44 text-ink-3 @max-3xl:hidden",
        cell: (entry) => entry.user_agent,
      },
      {
        id: "at",
        header: t.audit.time,
        sort: { by: "at", isDownFirst: true },
        className: "w-36 text-right text-ink-3",
        cell: (entry) => <span title={format.full(entry.at)}>{format.moment(entry.at)}</span>,
      },
    ],
    [t, format, nameOf],
  );
  const { data } = answer;
  if (data === undefined) return <Unread of={answer} isSmall={false} />;
  const entries = data.pages.flatMap((page) => page.items);
  if (entries.length === 0) {
    const isFiltered = Object.keys(search).some((name) => name === "by" || name === "kind" || name === "range");
    return isFiltered ? (
      <Empty icon="search" title={t.audit.noMatch} hint={t.audit.noMatchHint} />
    ) : (
      <Empty icon="check" title={t.audit.none} hint={t.audit.noneHint} />
    );
  }
  return (
    <>
      <DataTable label={t.audit.title} columns={columns} rows={entries} sorting={sorting} />
      <NextPage of={answer} />
    </>
  );
}

const TONES: Record<Kind, Tone> = {
  film: "held",
  gfx_data: "held",
  evidence: "held",
  reminder_text: "held",
  people: "held",
  keys: "error",
  audit: "offline",
  export: "error",
  sign_in: "online",
  change: "busy",
};

const ofPerson = (account: Person) => `user:${account.id}`;

function namesOf(accounts: readonly Person[]): (by: string) => string {
  const names = new Map(accounts.map((account) => [ofPerson(account), account.email ?? account.id]));
  return (by) => names.get(by) ?? by;
}

/** Whom to choose from: also somebody who has no account, if the address names them. */
function people(accounts: readonly Person[], by: string | undefined, everybody: string, programs: string) {
  const known = [
    { value: EVERYBODY, label: everybody },
    ...accounts.map((account) => ({ value: ofPerson(account), label: account.email ?? account.id })),
    { value: PROGRAMS, label: programs },
  ];
  const isKnown = by === undefined || known.some((choice) => choice.value === by);
  return isKnown ? known : [...known, { value: by, label: by }];
}
