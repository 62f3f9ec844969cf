/** Enrolment codes: which there are, and a new one. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useApp } from "@/app/context";
import { ExportButton } from "@/app/export-button";
import { usePrepareSensitive } from "@/app/prepare-sensitive";
import { FAULT_IN_FORM } from "@/app/queries";
import { get } from "@/lib/api/get";
import type { EnrolmentRecord, MadeEnrolment } from "@/lib/api/schema";
import { useErrorText } from "@/lib/errors/error-text";
import { withBody } from "@/lib/rest/commands";
import { ApiError } from "@/lib/session/errors";
import { useFormat } from "@/lib/time/format";
import { useNow } from "@/lib/time/use-now";
import { Button } from "@/ui/button";
import { type Column, DataTable } from "@/ui/data-table";
import { DialogForm } from "@/ui/dialog-form";
import { Field } from "@/ui/field";
import { Part } from "@/ui/part";
import { Empty, Unread } from "@/ui/states";
import { Badge } from "@/ui/status";
import { CODE_TONES, codeStateOf } from "./key-state";
import { ShownOnce } from "./shown-once";
import { useKeysText } from "./words";

const PHONES_MAX = 200;
const HOURS_DEFAULT = 24;
const HOURS_MAX = 720;

export function Codes({ nameOf, create }: { nameOf: (by: string) => string; create: () => void }): ReactNode {
  const t = useKeysText();
  const format = useFormat();
  const now = useNow(10_000);
  const { client } = useApp();
  const answer = useQuery({
    queryKey: ["enrolments"],
    queryFn: async () => (await get(client, "/api/enrolments", {})).enrolments,
  });
  const columns: Column<EnrolmentRecord>[] = [
    { id: "pc", header: t.keys.pc, className: "w-[22%]", isTitle: true, cell: (code) => code.pc_id },
    {
      id: "state",
      header: t.keys.state,
      className: "w-40",
      cell: (code) => {
        const state = codeStateOf(code, now);
        return <Badge tone={CODE_TONES[state]}>{t.keys.codeStates[state]}</Badge>;
      },
    },
    {
      id: "phones",
      header: t.keys.phones,
      isNamed: true,
      className: "w-28",
      cell: (code) => `${format.number(code.devices)} / ${format.number(code.devices_max)}`,
    },
    { id: "by", header: t.keys.creator, cell: (code) => nameOf(code.created_by) },
    {
      id: "expires",
      header: t.keys.expires,
      isNamed: true,
      className: "w-40 text-ink-3",
      cell: (code) => <span title={format.full(code.expires_at)}>{format.moment(code.expires_at)}</span>,
    },
    {
      id: "actions",
      header: t.keys.actions,
      isHeaderHidden: true,
      className: "w-32 text-right",
      cell: (code) => codeStateOf(code, now) !== "ended" && <Withdraw code={code} />,
    },
  ];
  const { data } = answer;
  return (
    <Part
      title={t.keys.codes}
      count={data?.length ?? 0}
      aside={
        <div className="flex flex-wrap gap-2">
          {data !== undefined && data.length > 0 && (
            <ExportButton of={t.keys.codes} what={() => ({ name: "enrolment-codes", rows: data })} />
          )}
          <Button icon="plus" onClick={create}>
            {t.keys.newCode}
          </Button>
        </div>
      }
    >
      {data === undefined ? (
        <Unread of={answer} />
      ) : data.length === 0 ? (
        <Empty isSmall title={t.keys.noCodes} hint={t.keys.codesLead} />
      ) : (
        <DataTable label={t.keys.codes} columns={columns} rows={data} />
      )}
    </Part>
  );
}

function Withdraw({ code }: { code: EnrolmentRecord }): ReactNode {
  const t = useKeysText();
  const { client, toasts } = useApp();
  const label = t.keys.withdrawOf(code.pc_id);
  const end = useMutation({
    mutationFn: () => client.sensitive(label, () => client.request(`/api/enrolments/${code.id}`, { method: "DELETE" })),
    onSuccess: () => toasts.show({ kind: "done", title: t.keys.withdrawn }),
  });
  return (
    <Button kind="danger" aria-label={label} disabled={end.isPending} onClick={() => end.mutate()}>
      {t.keys.withdraw}
    </Button>
  );
}

export function NewCode({ close }: { close: () => void }): ReactNode {
  const t = useKeysText();
  usePrepareSensitive();
  const { client } = useApp();
  const errorText = useErrorText();
  const [pc, setPc] = useState("");
  const [isNew, setIsNew] = useState(false);
  const [phones, setPhones] = useState(String(PHONES_MAX));
  const [hours, setHours] = useState(String(HOURS_DEFAULT));
  const create = useMutation({
    meta: FAULT_IN_FORM,
    mutationFn: () => {
      const wanted = { pc_id: pc.trim(), new_pc: isNew, devices_max: Number(phones), hours: Number(hours) };
      const body = withBody("POST", wanted);
      return client.sensitive(t.keys.newCode, () => client.json<MadeEnrolment>("/api/enrolments", body));
    },
  });
  const isUnknown = create.error instanceof ApiError && create.error.code === "NOT_FOUND";
  if (create.data !== undefined) {
    return (
      <ShownOnce
        title={t.keys.codeTitle}
        lead={t.keys.codeLead(create.data.pc_id)}
        label={t.keys.codeField}
        secret={create.data.code}
        close={close}
      />
    );
  }
  return (
    <DialogForm
      close={close}
      title={t.keys.newCode}
      lead={t.keys.newCodeLead}
      submit={() => create.mutate()}
      yes={t.keys.newCode}
      disabled={create.isPending}
    >
      <Field
        label={t.keys.pc}
        hint={t.keys.pcHint}
        required
        autoFocus
        autoComplete="off"
        value={pc}
        wrong={create.error === null ? undefined : isUnknown ? t.keys.noSuchPc(pc.trim()) : errorText(create.error)}
        onChange={(event) => setPc(event.target.value)}
      />
      <label className="flex items-center gap-2 text-sm">
        <input
          type="checkbox"
          className="size-4 accent-(--accent)"
          checked={isNew}
          onChange={(event) => setIsNew(event.target.checked)}
        />
        {t.keys.isNewPc}
      </label>
      <Field
        label={t.keys.phonesMax}
        type="number"
        required
        min={1}
        max={PHONES_MAX}
        value={phones}
        onChange={(event) => setPhones(event.target.value)}
      />
      <Field
        label={t.keys.hours}
        type="number"
        required
        min={1}
        max={HOURS_MAX}
        value={hours}
        onChange={(event) => setHours(event.target.value)}
      />
    </DialogForm>
  );
}
