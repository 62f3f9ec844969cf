/** What people did about an alert, and the buttons to do it. */
import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useRef, useState } from "react";
import { useApp, useMay } from "@/app/context";
import { useDialog } from "@/app/dialog-host";
import { FAULT_IN_FORM } from "@/app/queries";
import { useActors } from "@/farm/actors";
import { useErrorText } from "@/lib/errors/error-text";
import type { Dictionary } from "@/lib/i18n/en";
import { handling as en } from "@/lib/i18n/en-handling";
import { handling as ko } from "@/lib/i18n/ko-handling";
import { useScreenText } from "@/lib/i18n/screen-text";
import { randomKey } from "@/lib/rest/key";
import type { AlertRow } from "@/lib/rest/rows";
import { ApiError } from "@/lib/session/errors";
import { useFormat } from "@/lib/time/format";
import { useNow } from "@/lib/time/use-now";
import { Button } from "@/ui/button";
import { DialogForm } from "@/ui/dialog-form";
import { Field, Remark, SelectField } from "@/ui/field";
import { acknowledge, CHOICES, type Choice, endSnooze, isSnoozed, snooze, untilOf } from "./handling";

const NOTE_CHARS_MAX = 500;

export const WORDS = { en: { handling: en }, ko: { handling: ko } };
export type HandlingText = Dictionary & (typeof WORDS)["en"];

export function Handled({ alert }: { alert: AlertRow }): ReactNode {
  const t = useScreenText(WORDS);
  const format = useFormat();
  const name = useActors();
  const now = useNow(5_000);
  const { acknowledged_at, acknowledged_by, snoozed_until, snoozed_by } = alert;
  return (
    <>
      {acknowledged_at != null && acknowledged_by != null && (
        <p className="mt-1.5 text-sm text-ink-2">
          <span title={acknowledged_by}>
            {t.handling.acknowledged(name(acknowledged_by), format.moment(acknowledged_at))}
          </span>
          {alert.acknowledged_note != null && <Note text={alert.acknowledged_note} />}
        </p>
      )}
      {isSnoozed(alert, now) && (
        <p className="mt-1.5 text-sm text-held-ink">
          <span title={snoozed_by ?? undefined}>
            {snoozed_by == null
              ? t.handling.snoozed(format.moment(snoozed_until))
              : t.handling.snoozedBy(format.moment(snoozed_until), name(snoozed_by))}
          </span>
          {alert.snooze_note != null && <Note text={alert.snooze_note} />}
        </p>
      )}
    </>
  );
}

function Note({ text }: { text: string }): ReactNode {
  return <span className="break-words"> · “{text}”</span>;
}

export function HandleAlert({ alert }: { alert: AlertRow }): ReactNode {
  const t = useScreenText(WORDS);
  const mayHandle = useMay("handle-alerts");
  const show = useDialog();
  const now = useNow(5_000);
  const { client, toasts } = useApp();
  const end = useMutation({
    mutationFn: () => {
      const key = randomKey();
      return client.sensitive(t.handling.endSnooze, () => endSnooze(client, alert, key));
    },
    onSuccess: () => toasts.show({ kind: "done", title: t.handling.endSnoozeDone }),
  });
  if (!mayHandle || alert.resolved_at !== null) return null;
  return (
    <div className="mt-2 flex flex-wrap gap-2">
      {alert.acknowledged_at == null && (
        <Button icon="check" onClick={() => show((close) => <AcknowledgeForm alert={alert} close={close} />)}>
          {t.handling.acknowledge}
        </Button>
      )}
      <Button icon="past" onClick={() => show((close) => <SnoozeForm alert={alert} close={close} />)}>
        {t.handling.snooze}
      </Button>
      {isSnoozed(alert, now) && (
        <Button icon="play" disabled={end.isPending} onClick={() => end.mutate()}>
          {t.handling.endSnooze}
        </Button>
      )}
    </div>
  );
}

interface FormProps {
  readonly alert: AlertRow;
  readonly close: () => void;
}

/** Sends it once, however often it is tried, and closes the dialog. */
function useHandling(label: string, done: string, close: () => void) {
  const { client, toasts } = useApp();
  const key = useRef(randomKey());
  return useMutation({
    meta: FAULT_IN_FORM,
    mutationFn: (send: (key: string) => Promise<Response>) => client.sensitive(label, () => send(key.current)),
    onSuccess: () => {
      toasts.show({ kind: "done", title: done });
      close();
    },
    onError: () => {
      key.current = randomKey();
    },
  });
}

function AcknowledgeForm({ alert, close }: FormProps): ReactNode {
  const t = useScreenText(WORDS);
  const { client } = useApp();
  const [note, setNote] = useState("");
  const handle = useHandling(t.handling.acknowledge, t.handling.acknowledgeDone, close);
  return (
    <DialogForm
      close={close}
      title={t.handling.acknowledgeTitle}
      lead={t.handling.acknowledgeLead}
      submit={() => handle.mutate((key) => acknowledge(client, alert, note.trim(), key))}
      yes={t.handling.acknowledge}
      disabled={handle.isPending}
    >
      <NoteField value={note} onChange={setNote} />
      <Fault error={handle.error} />
    </DialogForm>
  );
}

function SnoozeForm({ alert, close }: FormProps): ReactNode {
  const t = useScreenText(WORDS);
  const { client } = useApp();
  const [note, setNote] = useState("");
  const [choice, setChoice] = useState<Choice>("hour");
  const [other, setOther] = useState("");
  const [isBad, setIsBad] = useState(false);
  const handle = useHandling(t.handling.snooze, t.handling.snoozeDone, close);
  function submit(): void {
    const until = untilOf(choice, other, Date.now());
    setIsBad(until === null);
    if (until !== null) handle.mutate((key) => snooze(client, alert, until, note.trim(), key));
  }
  return (
    <DialogForm
      close={close}
      title={t.handling.snoozeTitle}
      lead={t.handling.snoozeLead}
      submit={submit}
      yes={t.handling.snooze}
      disabled={handle.isPending}
      noValidate
    >
      <SelectField
        label={t.handling.until}
        value={choice}
        choices={CHOICES.map((value) => ({ value, label: t.handling.choices[value] }))}
        onChange={setChoice}
      />
      {choice === "other" && (
        <Field
          label={t.handling.otherTime}
          name="until"
          type="datetime-local"
          wrong={isBad ? t.handling.badTime : undefined}
          value={other}
          onChange={(event) => setOther(event.target.value)}
        />
      )}
      <NoteField value={note} onChange={setNote} />
      <Fault error={handle.error} />
    </DialogForm>
  );
}

function NoteField({ value, onChange }: { value: string; onChange: (text: string) => void }): ReactNode {
  const t = useScreenText(WORDS);
  return (
    <Field
      label={t.handling.note}
      hint={t.handling.noteHint}
      name="note"
      maxLength={NOTE_CHARS_MAX}
      autoComplete="off"
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

function Fault({ error }: { error: unknown }): ReactNode {
  const t = useScreenText(WORDS);
  const errorText = useErrorText();
  if (error === null) return null;
  const isGone = error instanceof ApiError && error.status === 404;
  return <Remark wrong={isGone ? t.handling.gone : errorText(error)} />;
}
