/** One PC: how much it may have at work, and how its phones are. */
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useApp, useLive, useMay } from "@/app/context";
import { useText } from "@/lib/i18n/i18n";
import { type Pc, shownAs } from "@/lib/live/fleet";
import { useRow, useTopic } from "@/lib/live/hooks";
import { useDraft } from "@/lib/react/use-draft";
import { setCapacity } from "@/lib/rest/commands";
import { useFormat } from "@/lib/time/format";
import { Button } from "@/ui/button";
import { Field } from "@/ui/field";
import { Form } from "@/ui/form";
import { Section, SidePanel } from "@/ui/side-panel";
import { ShownBadge } from "@/ui/status";

const CAPACITY_MAX = 20;

export function PcPanel({ id, close }: { id: string; close: () => void }): ReactNode {
  const t = useText();
  const format = useFormat();
  const { fleet } = useLive();
  const pc = useRow(fleet.pcs, id);
  useTopic(fleet.devices, id);
  const mayChange = useMay("change-pc");
  const devices = fleet.devicesOf(id).flatMap((device) => fleet.devices.get(device) ?? []);
  return (
    <SidePanel title={id} subtitle={t.fleet.phones(devices.length)} close={close}>
      {pc?.heldUntil != null && (
        <p className="bg-held-soft px-4 py-2 text-sm text-held-ink">{t.fleet.pcHeld(format.moment(pc.heldUntil))}</p>
      )}
      {pc !== undefined && (
        <Section title={t.pc.capacity}>{mayChange ? <Capacity pc={pc} /> : <p>{pc.capacity}</p>}</Section>
      )}
      <Section title={t.palette.phones}>
        <ul>
          {devices.map((device) => {
            const assignment = device.assignment === null ? undefined : fleet.assignments.get(device.assignment);
            return (
              <li key={device.id} className="border-t border-line first:border-t-0">
                <Link
                  to="/fleet"
                  search={(before) => ({ ...before, pc: undefined as never, device: device.id })}
                  className="-mx-2 flex h-8 items-center gap-3 rounded px-2 text-sm hover:bg-hover"
                >
                  <span className="flex-1 truncate font-mono text-xs">{device.serial}</span>
                  <span className="text-ink-3">{assignment?.phase === "running" && `${assignment.progress} %`}</span>
                  <ShownBadge shown={shownAs(device)} />
                </Link>
              </li>
            );
          })}
        </ul>
      </Section>
    </SidePanel>
  );
}

function Capacity({ pc }: { pc: Pc }): ReactNode {
  const t = useText();
  const { client, toasts } = useApp();
  const [text, setText] = useDraft(String(pc.capacity));
  const wanted = Number(text);
  const isGood = Number.isInteger(wanted) && wanted >= 1 && wanted <= CAPACITY_MAX;
  const change = useMutation({
    mutationFn: () => setCapacity(client, pc.id, wanted),
    onSuccess: () => toasts.show({ kind: "done", title: t.pc.changed(pc.id, wanted) }),
  });
  return (
    <Form className="flex items-end gap-2" submit={() => change.mutate()}>
      <Field
        label={`1 – ${CAPACITY_MAX}`}
        type="number"
        min={1}
        max={CAPACITY_MAX}
        value={text}
        onChange={(event) => setText(event.target.value)}
        className="w-24"
      />
      <Button type="submit" disabled={!isGood || wanted === pc.capacity || change.isPending}>
        {t.pc.change}
      </Button>
    </Form>
  );
}
