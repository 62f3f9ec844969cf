/** People who may sign in, for administrators. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { useApp } from "@/app/context";
import { ExportButton } from "@/app/export-button";
import { usePrepareSensitive } from "@/app/prepare-sensitive";
import { FAULT_IN_FORM } from "@/app/queries";
import { get } from "@/lib/api/get";
import type { Person } from "@/lib/api/schema";
import { useErrorText } from "@/lib/errors/error-text";
import { useText } from "@/lib/i18n/i18n";
import { withBody } from "@/lib/rest/commands";
import { ROLES, type Role } from "@/lib/session/session";
import { useFormat } from "@/lib/time/format";
import { useNow } from "@/lib/time/use-now";
import { useAuditText } from "@/screens/audit/words";
import { Button, buttonClass } from "@/ui/button";
import { type Column, DataTable, RowButton, type Sorting, sortedBy } from "@/ui/data-table";
import { DialogForm } from "@/ui/dialog-form";
import { Field, SelectField } from "@/ui/field";
import { Part } from "@/ui/part";
import { Unread } from "@/ui/states";
import { Badge } from "@/ui/status";

export function useAccounts(isWanted: boolean) {
  const { client } = useApp();
  return useQuery({
    queryKey: ["accounts"],
    queryFn: async () => (await get(client, "/api/accounts", {})).accounts,
    enabled: isWanted,
  });
}

export function Accounts({
  current,
  open,
  create,
  sorting,
}: {
  current: string | undefined;
  sorting: Sorting;
  open: (id: string) => void;
  create: () => void;
}): ReactNode {
  const t = useAuditText();
  const format = useFormat();
  const now = useNow(10_000);
  const answer = useAccounts(true);
  const { data } = answer;
  const columns: Column<Person>[] = [
    {
      id: "email",
      header: t.session.email,
      sort: { by: "email", value: (account) => account.email ?? account.id },
      className: "w-[36%]",
      cell: (account) => <RowButton onClick={() => open(account.id)}>{account.email ?? account.id}</RowButton>,
    },
    {
      id: "role",
      header: t.system.role,
      sort: { by: "role", value: (account) => t.session.roles[account.role] },
      cell: (account) => t.session.roles[account.role],
    },
    {
      id: "state",
      header: t.system.state,
      sort: { by: "disabled", isDownFirst: true, value: (account) => account.disabled },
      className: "w-32",
      cell: (account) => (
        <Badge tone={account.disabled ? "error" : "online"}>
          {account.disabled ? t.system.disabled : t.system.enabled}
        </Badge>
      ),
    },
    {
      id: "last",
      header: t.system.lastSignIn,
      sort: { by: "last_sign_in_at", isDownFirst: true, value: (account) => account.last_sign_in_at },
      isNamed: true,
      className: "w-40 text-right text-ink-3",
      cell: (account) => (account.last_sign_in_at === null ? t.common.never : format.ago(account.last_sign_in_at, now)),
    },
  ];
  return (
    <Part
      title={t.system.accounts}
      count={data?.length ?? 0}
      aside={
        <div className="flex flex-wrap gap-2">
          {data !== undefined && (
            <ExportButton of={t.system.accounts} what={() => ({ name: "accounts", rows: data })} />
          )}
          <Link to="/audit" className={buttonClass("plain")}>
            {t.audit.title}
          </Link>
          <Button icon="plus" onClick={create}>
            {t.system.newAccount}
          </Button>
        </div>
      }
    >
      {data === undefined ? (
        <Unread of={answer} />
      ) : (
        <DataTable
          label={t.system.accounts}
          columns={columns}
          rows={sortedBy(data, columns, sorting.sort)}
          current={current}
          open={open}
          sorting={sorting}
        />
      )}
    </Part>
  );
}

export function NewAccount({ close, created }: { close: () => void; created: (id: string) => void }): ReactNode {
  const t = useText();
  usePrepareSensitive();
  const { client, toasts } = useApp();
  const errorText = useErrorText();
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [role, setRole] = useState<Role>("viewer");
  const create = useMutation({
    meta: FAULT_IN_FORM,
    mutationFn: () => {
      const body = withBody("POST", { email: email.trim(), password, role });
      return client.sensitive(t.system.newAccount, () => client.json<Person>("/api/accounts", body));
    },
    onSuccess: (account) => {
      toasts.show({ kind: "done", title: t.system.accountMade(account.email ?? account.id) });
      created(account.id);
    },
  });
  return (
    <DialogForm
      close={close}
      title={t.system.newAccount}
      lead={t.system.newAccountLead}
      submit={() => create.mutate()}
      yes={t.system.make}
      disabled={create.isPending}
    >
      <Field
        label={t.session.email}
        type="email"
        required
        autoFocus
        autoComplete="off"
        value={email}
        onChange={(event) => setEmail(event.target.value)}
      />
      <Field
        label={t.system.firstPassword}
        type="password"
        required
        autoComplete="new-password"
        value={password}
        wrong={create.error === null ? undefined : errorText(create.error)}
        onChange={(event) => setPassword(event.target.value)}
      />
      <SelectField
        label={t.system.role}
        value={role}
        choices={ROLES.map((value) => ({ value, label: t.session.roles[value] }))}
        onChange={setRole}
      />
    </DialogForm>
  );
}
