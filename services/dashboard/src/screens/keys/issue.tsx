/** Makes a key, or its successor. The key itself is shown once. */
import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useApp, useLive } from "@/app/context";
import { usePrepareSensitive } from "@/app/prepare-sensitive";
import { FAULT_IN_FORM } from "@/app/queries";
import type { IssuedKey, KeyRecord } from "@/lib/api/schema";
import { useErrorText } from "@/lib/errors/error-text";
import type { FleetStore } from "@/lib/live/fleet";
import { withBody } from "@/lib/rest/commands";
import { DialogForm } from "@/ui/dialog-form";
import { Field, Remark, SelectField } from "@/ui/field";
import { ShownOnce } from "./shown-once";
import { useKeysText } from "./words";

const ROLES = ["device", "service_role", "anon"] as const satisfies readonly IssuedKey["role"][];
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const DAYS_MAX = 3650;
const DAYS_DEFAULT = 365;
const GRACE_HOURS_DEFAULT = 24;
const GRACE_HOURS_MAX = 2160;

export function CreateKey({ close }: { close: () => void }): ReactNode {
  const t = useKeysText();
  usePrepareSensitive();
  const { client } = useApp();
  const { fleet } = useLive();
  const errorText = useErrorText();
  const [name, setName] = useState("");
  const [role, setRole] = useState<IssuedKey["role"]>("service_role");
  const [phone, setPhone] = useState("");
  const [isUnknown, setIsUnknown] = useState(false);
  const [days, setDays] = useState(String(DAYS_DEFAULT));
  const create = useMutation({
    meta: FAULT_IN_FORM,
    mutationFn: (deviceId: string | undefined) => {
      const device = deviceId === undefined ? {} : { device_id: deviceId };
      const body = withBody("POST", { name: name.trim(), role, days: Number(days), ...device });
      return client.sensitive(t.keys.create, () => client.json<IssuedKey>("/api/keys", body));
    },
  });
  function submit(): void {
    const deviceId = role === "device" ? deviceNamed(fleet, phone.trim()) : undefined;
    if (deviceId === null) setIsUnknown(true);
    else create.mutate(deviceId);
  }
  if (create.data !== undefined) return <Created issued={create.data} close={close} />;
  return (
    <DialogForm
      close={close}
      title={t.keys.create}
      lead={t.keys.createLead}
      submit={submit}
      yes={t.keys.create}
      disabled={create.isPending}
    >
      <Field
        label={t.keys.name}
        required
        autoFocus
        maxLength={80}
        autoComplete="off"
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <SelectField
        label={t.keys.role}
        value={role}
        choices={ROLES.map((value) => ({ value, label: t.keys.roles[value] }))}
        onChange={setRole}
      />
      {role === "device" && (
        <Field
          label={t.keys.phone}
          hint={t.keys.phoneHint}
          wrong={isUnknown ? t.keys.noSuchPhone : undefined}
          required
          autoComplete="off"
          value={phone}
          onChange={(event) => {
            setPhone(event.target.value);
            setIsUnknown(false);
          }}
        />
      )}
      <DaysField value={days} onChange={setDays} />
      <Remark wrong={create.error === null ? undefined : errorText(create.error)} />
    </DialogForm>
  );
}

/** The id of a phone that a person has named by its serial number or its id. Null: there is none. */
function deviceNamed(fleet: Pick<FleetStore, "devices">, name: string): string | null {
  if (UUID.test(name)) return name;
  for (const device of fleet.devices.values()) if (device.serial === name.toUpperCase()) return device.id;
  return null;
}

export function RotateKey({ of: key, close }: { of: KeyRecord; close: () => void }): ReactNode {
  const t = useKeysText();
  usePrepareSensitive();
  const { client } = useApp();
  const errorText = useErrorText();
  const [days, setDays] = useState(String(DAYS_DEFAULT));
  const [hours, setHours] = useState(String(GRACE_HOURS_DEFAULT));
  const rotate = useMutation({
    meta: FAULT_IN_FORM,
    mutationFn: () => {
      const body = withBody("POST", { days: Number(days), grace_hours: Number(hours) });
      const path = `/api/keys/${key.id}/rotate`;
      return client.sensitive(t.keys.rotateOf(key.name), () => client.json<IssuedKey>(path, body));
    },
  });
  if (rotate.data !== undefined) return <Created issued={rotate.data} close={close} />;
  return (
    <DialogForm
      close={close}
      title={t.keys.rotateOf(key.name)}
      lead={t.keys.rotateLead}
      submit={() => rotate.mutate()}
      yes={t.keys.rotate}
      disabled={rotate.isPending}
    >
      <Field
        label={t.keys.grace}
        type="number"
        required
        min={0}
        max={GRACE_HOURS_MAX}
        value={hours}
        onChange={(event) => setHours(event.target.value)}
      />
      <DaysField value={days} onChange={setDays} />
      <Remark wrong={rotate.error === null ? undefined : errorText(rotate.error)} />
    </DialogForm>
  );
}

export function DaysField({ value, onChange }: { value: string; onChange: (value: string) => void }): ReactNode {
  const t = useKeysText();
  return (
    <Field
      label={t.keys.days}
      type="number"
      required
      min={1}
      max={DAYS_MAX}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

function Created({ issued, close }: { issued: IssuedKey; close: () => void }): ReactNode {
  const t = useKeysText();
  return (
    <ShownOnce
      title={t.keys.createdTitle}
      lead={t.keys.createdLead}
      label={t.keys.keyField}
      secret={issued.key}
      close={close}
    />
  );
}
