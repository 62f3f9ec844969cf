/** API keys: which there are, who made them and when they were used; new ones, rotation, revocation. For administrators. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { Confirm } from "@/app/confirm";
import { useApp, useLive, useMay } from "@/app/context";
import { ExportButton } from "@/app/export-button";
import { usePageTitle } from "@/app/page-title";
import { useChange } from "@/app/use-change";
import { useNames } from "@/farm/names";
import { shortId } from "@/farm/short-id";
import { get } from "@/lib/api/get";
import type { KeyRecord, Person } from "@/lib/api/schema";
import { useRow } from "@/lib/live/hooks";
import { type Sort, sortIn, sortText } from "@/lib/sort/sort";
import { useFormat } from "@/lib/time/format";
import { useNow } from "@/lib/time/use-now";
import { useAccounts } from "@/screens/system/accounts";
import { Button } from "@/ui/button";
import { type Column, DataTable, sortedBy } from "@/ui/data-table";
import { Page } from "@/ui/page";
import { Part } from "@/ui/part";
import { Empty, Unread } from "@/ui/states";
import { Badge } from "@/ui/status";
import { Codes, NewCode } from "./codes";
import { CreateKey, RotateKey } from "./issue";
import { KEY_TONES, stateOf } from "./key-state";
import { type KeysSearch, SORTS } from "./search";
import { type KeysText, useKeysText } from "./words";

/** As many as one answer has. */
const SHOWN_MAX = 500;

type Open = { readonly kind: "new" | "code" } | { readonly kind: "rotate" | "revoke"; readonly of: KeyRecord };

export function ApiKeys(): ReactNode {
  const t = useKeysText();
  const mayManage = useMay("manage-keys");
  const accounts = useAccounts(mayManage).data;
  const [open, setOpen] = useState<Open | null>(null);
  usePageTitle(t.keys.title);
  if (!mayManage) {
    return (
      <Page title={t.keys.title}>
        <Empty icon="key" title={t.keys.adminsOnly} />
      </Page>
    );
  }
  const nameOf = namesOf(t, accounts ?? []);
  const close = () => setOpen(null);
  return (
    <Page
      title={t.keys.title}
      tools={
        <Button kind="primary" icon="plus" onClick={() => setOpen({ kind: "new" })}>
          {t.keys.create}
        </Button>
      }
    >
      <div className="page-body">
        <div className="@container mx-auto flex max-w-[100rem] flex-col gap-6">
          <p className="max-w-5xl text-sm text-ink-3">{t.keys.lead}</p>
          <Keys nameOf={nameOf} act={setOpen} />
          <Codes nameOf={nameOf} create={() => setOpen({ kind: "code" })} />
        </div>
      </div>
      {open?.kind === "new" && <CreateKey close={close} />}
      {open?.kind === "code" && <NewCode close={close} />}
      {open?.kind === "rotate" && <RotateKey of={open.of} close={close} />}
      {open?.kind === "revoke" && <Revoke of={open.of} close={close} />}
    </Page>
  );
}

function Keys({ nameOf, act }: { nameOf: (by: string) => string; act: (open: Open) => void }): ReactNode {
  const t = useKeysText();
  const format = useFormat();
  const now = useNow(10_000);
  const { client } = useApp();
  const [isAll, setIsAll] = useState(false);
  const sort = sortIn(useSearch({ from: "/inside/keys" }).order, SORTS);
  const change = useChange<KeysSearch>("/keys");
  const sorting = { sort, change: (next: Sort | undefined) => change({ order: sortText(next) }) };
  const answer = useQuery({
    queryKey: ["api-keys"],
    queryFn: async () => (await get(client, "/api/keys", {})).keys,
  });
  const columns: Column<KeyRecord>[] = [
    {
      id: "name",
      header: t.keys.name,
      sort: { by: "name", value: (key) => key.name },
      className: "w-[16%]",
      isTitle: true,
      cell: (key) => (
        <span className="font-medium" title={key.id}>
          {key.name}
        </span>
      ),
    },
    {
      id: "role",
      header: t.keys.role,
      sort: { by: "role", value: (key) => key.role },
      className: "w-[17%]",
      cell: (key) => (key.device_id === null ? key.role : <OfPhone id={key.device_id} role={key.role} />),
    },
    {
      id: "state",
      header: t.keys.state,
      sort: { by: "state", value: (key) => t.keys.states[stateOf(key, now)] },
      className: "w-32",
      cell: (key) => {
        const state = stateOf(key, now);
        const until = key.ends_at === null ? undefined : t.keys.endsAt(format.moment(key.ends_at));
        return (
          <span title={state === "ending" ? until : undefined}>
            <Badge tone={KEY_TONES[state]}>{t.keys.states[state]}</Badge>
          </span>
        );
      },
    },
    {
      id: "by",
      header: t.keys.creator,
      sort: { by: "created_by", value: (key) => nameOf(key.created_by) },
      isNamed: true,
      cell: (key) => <span title={format.full(key.created_at)}>{nameOf(key.created_by)}</span>,
    },
    {
      id: "expires",
      header: t.keys.expires,
      sort: { by: "expires_at", value: (key) => key.expires_at },
      isNamed: true,
      className: "w-36 text-ink-3",
      cell: (key) => format.full(key.expires_at).replace(/,? \d\d:\d\d:\d\d$/, ""),
    },
    {
      id: "used",
      header: t.keys.lastUse,
      sort: { by: "last_used_at", isDownFirst: true, value: (key) => key.last_used_at },
      isNamed: true,
      className: "w-28 text-ink-3",
      cell: (key) =>
        key.last_used_at === null ? (
          t.common.never
        ) : (
          <span title={format.full(key.last_used_at)}>{format.ago(key.last_used_at, now)}</span>
        ),
    },
    {
      id: "actions",
      header: t.keys.actions,
      isHeaderHidden: true,
      className: "w-48 text-right",
      cell: (key) => <Actions of={key} now={now} act={act} />,
    },
  ];
  const { data } = answer;
  const shown = (data ?? []).filter((key) => isAll || ["active", "ending"].includes(stateOf(key, now)));
  return (
    <Part
      title={t.keys.title}
      count={shown.length}
      aside={
        <div className="flex flex-wrap items-center gap-3">
          <label className="flex items-center gap-2 text-sm text-ink-2">
            <input
              type="checkbox"
              className="size-4 accent-(--accent)"
              checked={isAll}
              onChange={(event) => setIsAll(event.target.checked)}
            />
            {t.keys.showAll}
          </label>
          {shown.length > 0 && <ExportButton of={t.keys.title} what={() => ({ name: "api-keys", rows: shown })} />}
        </div>
      }
    >
      {data === undefined ? (
        <Unread of={answer} />
      ) : shown.length === 0 ? (
        <Empty icon="key" title={t.keys.none} hint={t.keys.noneHint} />
      ) : (
        <DataTable label={t.keys.title} columns={columns} rows={sortedBy(shown, columns, sort)} sorting={sorting} />
      )}
      {data !== undefined && data.length >= SHOWN_MAX && (
        <p className="px-4 py-2.5 text-xs text-ink-3">{t.keys.more(SHOWN_MAX)}</p>
      )}
    </Part>
  );
}

/** For which phone a key is: all keys of an enrolment have the name of their PC. */
function OfPhone({ id, role }: { id: string; role: string }): ReactNode {
  const serial = useRow(useLive().fleet.devices, id)?.serial ?? shortId(id);
  return (
    <>
      {role}{" "}
      <Link
        to="/fleet"
        search={{ device: id }}
        title={id}
        className="font-mono text-xs underline-offset-2 hover:underline"
      >
        {serial}
      </Link>
    </>
  );
}

function Actions({ of: key, now, act }: { of: KeyRecord; now: number; act: (open: Open) => void }): ReactNode {
  const t = useKeysText();
  const state = stateOf(key, now);
  if (state === "revoked" || state === "expired") return null;
  return (
    <span className="inline-flex gap-2">
      {state === "active" && (
        <Button aria-label={t.keys.rotateOf(key.name)} onClick={() => act({ kind: "rotate", of: key })}>
          {t.keys.rotate}
        </Button>
      )}
      <Button kind="danger" aria-label={t.keys.revokeOf(key.name)} onClick={() => act({ kind: "revoke", of: key })}>
        {t.keys.revoke}
      </Button>
    </span>
  );
}

export function Revoke({ of: key, close }: { of: KeyRecord; close: () => void }): ReactNode {
  const t = useKeysText();
  const { client, toasts } = useApp();
  const names = useNames();
  const revoke = useMutation({
    mutationFn: () =>
      client.sensitive(t.keys.revokeOf(key.name), () => client.request(`/api/keys/${key.id}`, { method: "DELETE" })),
    onSuccess: () => toasts.show({ kind: "done", title: t.keys.revoked(key.name) }),
  });
  const phone = key.device_id === null ? "" : ` ${names.device(key.device_id)}`;
  return (
    <Confirm
      title={t.keys.revokeTitle}
      lead={t.keys.revokeLead}
      subject={`${key.name} (${key.role}${phone})`}
      keep={t.keys.revokeKeep}
      yes={t.keys.revokeYes}
      close={close}
      confirm={() => revoke.mutate()}
    />
  );
}

const PC = "pc:";

/** Who made it: a person by address, the agent of a PC, or the command line. */
function namesOf(t: KeysText, accounts: readonly Person[]): (by: string) => string {
  const names = new Map(accounts.map((account) => [`user:${account.id}`, account.email ?? account.id]));
  const programs: Readonly<Record<string, string>> = t.keys.creators;
  return (by) => names.get(by) ?? programs[by] ?? (by.startsWith(PC) ? t.keys.byPc(by.slice(PC.length)) : by);
}
