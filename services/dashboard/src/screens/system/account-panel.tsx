/** One account: its role, whether it may sign in, another password, and where it is signed in. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Confirm } from "@/app/confirm";
import { useApp, useSignedIn } from "@/app/context";
import { Erase } from "@/farm/erase";
import { get } from "@/lib/api/get";
import type { Person } from "@/lib/api/schema";
import { useText } from "@/lib/i18n/i18n";
import { withBody } from "@/lib/rest/commands";
import { ROLES, type Role } from "@/lib/session/session";
import { useFormat } from "@/lib/time/format";
import { Button } from "@/ui/button";
import { Field, SelectField } from "@/ui/field";
import { Form } from "@/ui/form";
import { Facts, Section, SidePanel } from "@/ui/side-panel";
import { Unread } from "@/ui/states";
import { Badge } from "@/ui/status";
import { useAccounts } from "./accounts";
import { SessionList } from "./sessions";

type Change = { readonly role: Role } | { readonly disabled: boolean } | { readonly password: string };

export function AccountPanel({ id, close }: { id: string; close: () => void }): ReactNode {
  const t = useText();
  const format = useFormat();
  const { user } = useSignedIn();
  const accounts = useAccounts(true);
  const account = accounts.data && (accounts.data.find((one) => one.id === id) ?? null);
  if (account === undefined || account === null) {
    return (
      <SidePanel title={t.system.account} close={close}>
        <Unread of={accounts} absent={account === null && t.errors.notFound} />
      </SidePanel>
    );
  }
  return (
    <SidePanel
      title={account.email ?? account.id}
      badge={account.disabled ? <Badge tone="error">{t.system.disabled}</Badge> : undefined}
      subtitle={t.session.roles[account.role]}
      close={close}
    >
      <Section title={t.common.details}>
        <Facts
          facts={[
            [t.system.made, format.full(account.created_at)],
            [
              t.system.lastSignIn,
              account.last_sign_in_at === null ? t.common.never : format.full(account.last_sign_in_at),
            ],
          ]}
        />
      </Section>
      {/* Nobody locks themselves out by a slip of the hand. */}
      {account.id !== user.id && <Settings account={account} />}
      <Sessions id={id} />
    </SidePanel>
  );
}

function useChange(account: Person) {
  const t = useText();
  const { client, toasts } = useApp();
  return useMutation({
    mutationFn: (change: Change) =>
      client.sensitive(`${t.system.change}: ${account.email ?? account.id}`, () =>
        client.request(`/api/accounts/${account.id}`, withBody("PATCH", change)),
      ),
    onSuccess: () => toasts.show({ kind: "done", title: t.system.changed(account.email ?? account.id) }),
  });
}

function Settings({ account }: { account: Person }): ReactNode {
  const t = useText();
  const change = useChange(account);
  const [password, setPassword] = useState("");
  const [isAsking, setIsAsking] = useState(false);
  function submit(): void {
    if (password === "") return;
    change.mutate({ password }, { onSuccess: () => setPassword("") });
  }
  return (
    <Section title={t.system.change} aside={<Erase what="users" id={account.id} name={account.email ?? account.id} />}>
      <div className="flex flex-col gap-3">
        <div className="flex items-end gap-2">
          <SelectField
            label={t.system.role}
            className="flex-1"
            disabled={change.isPending}
            value={account.role}
            choices={ROLES.map((value) => ({ value, label: t.session.roles[value] }))}
            onChange={(role) => change.mutate({ role })}
          />
          <Button
            kind={account.disabled ? "plain" : "danger"}
            disabled={change.isPending}
            onClick={() => (account.disabled ? change.mutate({ disabled: false }) : setIsAsking(true))}
          >
            {account.disabled ? t.system.enable : t.system.disable}
          </Button>
        </div>
        <Form className="flex items-end gap-2" submit={submit}>
          <Field
            label={t.system.newPassword}
            type="password"
            autoComplete="new-password"
            className="flex-1"
            value={password}
            onChange={(event) => setPassword(event.target.value)}
          />
          <Button type="submit" disabled={password === "" || change.isPending}>
            {t.system.set}
          </Button>
        </Form>
      </div>
      {isAsking && (
        <Confirm
          title={t.system.disableTitle(account.email ?? account.id)}
          lead={t.system.disableLead}
          keep={t.renders.keep}
          yes={t.system.disable}
          close={() => setIsAsking(false)}
          confirm={() => change.mutate({ disabled: true })}
        />
      )}
    </Section>
  );
}

function Sessions({ id }: { id: string }): ReactNode {
  const t = useText();
  const { client, toasts } = useApp();
  const { user } = useSignedIn();
  const path = `/api/accounts/${id}/sessions`;
  const answer = useQuery({
    queryKey: ["accounts", id, "sessions"],
    queryFn: async () => (await get(client, "/api/accounts/{id}/sessions", { id })).sessions,
  });
  const { data } = answer;
  const endAll = useMutation({
    mutationFn: () => client.sensitive(t.system.endAll, () => client.request(path, { method: "DELETE" })),
    onSuccess: () => toasts.show({ kind: "done", title: t.system.allEnded }),
  });
  return (
    <Section
      title={t.system.signedInAt}
      aside={
        id !== user.id &&
        data !== undefined &&
        data.length > 0 && (
          <Button kind="danger" className="h-7" disabled={endAll.isPending} onClick={() => endAll.mutate()}>
            {t.system.endAll}
          </Button>
        )
      }
    >
      <div className="-mx-4">
        {data === undefined ? <Unread of={answer} /> : <SessionList sessions={data} path={path} />}
      </div>
    </Section>
  );
}
