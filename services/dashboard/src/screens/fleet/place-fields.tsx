/** Where phones are: a PC and a group, of those that are known or new ones. */
import { type ReactNode, useId, useMemo } from "react";
import { useLive } from "@/app/context";
import { useOperateText } from "@/farm/operate-words";
import { Field } from "@/ui/field";

/** As the server takes them. */
export const PC_NAME = /^[A-Za-z0-9._-]{1,64}$/;
export const GROUP_NAME = /^P[0-9]+-G[0-9]+$/;

interface PlaceFieldsProps {
  readonly pc: string;
  readonly group: string;
  readonly onChange: (part: { pc?: string; group?: string }) => void;
  readonly wrongPc?: string | undefined;
  readonly wrongGroup?: string | undefined;
  readonly hint: string;
}

export function PlaceFields({ pc, group, onChange, wrongPc, wrongGroup, hint }: PlaceFieldsProps): ReactNode {
  const t = useOperateText();
  const id = useId();
  const { fleet } = useLive();
  const known = useMemo(
    () => ({
      pcs: [...fleet.pcs.keys()].sort(),
      groups: [...new Set([...fleet.devices.values()].map((device) => device.group))].sort(),
    }),
    [fleet],
  );
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <Field
        label={t.newJob.pcId}
        list={`${id}-pcs`}
        autoComplete="off"
        value={pc}
        hint={hint}
        wrong={wrongPc}
        onChange={(event) => onChange({ pc: event.target.value })}
      />
      <Field
        label={t.newJob.groupId}
        list={`${id}-groups`}
        autoComplete="off"
        placeholder="P1-G1"
        value={group}
        wrong={wrongGroup}
        onChange={(event) => onChange({ group: event.target.value })}
      />
      <datalist id={`${id}-pcs`}>
        {known.pcs.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <datalist id={`${id}-groups`}>
        {known.groups.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </div>
  );
}
