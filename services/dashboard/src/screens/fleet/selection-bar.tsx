/** What can be done with the phones that are selected. */
import { lazy, type ReactNode, Suspense } from "react";
import { useApp, useLive, useMay } from "@/app/context";
import { useDialog } from "@/app/dialog-host";
import { useOperateText } from "@/farm/operate-words";
import { useBulk } from "@/farm/use-bulk";
import { BULK_MAX } from "@/lib/rest/bulk";
import { resetInBulk } from "@/lib/rest/device-commands";
import { Button } from "@/ui/button";
import { MovePhones } from "./move";

const NewJob = lazy(() => import("@/screens/queue/new-job").then((module) => ({ default: module.NewJob })));

interface SelectionBarProps {
  readonly ids: readonly string[];
  /** How many phones the page shows. */
  readonly shown: number;
  readonly selectShown: () => void;
  readonly clear: () => void;
  readonly openJob: (job: string) => void;
}

export function SelectionBar({ ids, shown, selectShown, clear, openJob }: SelectionBarProps): ReactNode {
  const t = useOperateText();
  const { client } = useApp();
  const { fleet } = useLive();
  const show = useDialog();
  const [mayReset, mayCreate, mayMove] = [useMay("reset-device"), useMay("create-job"), useMay("move-device")];
  const failing = ids.filter((id) => fleet.devices.get(id)?.errorCode != null);
  const reset = useBulk({
    label: t.operate.resetLabel(failing.length),
    run: (chosen: readonly string[], key) => resetInBulk(client, chosen, key),
    said: (count) => t.operate.resetDone(count),
    nameOf: (id) => fleet.devices.get(id)?.serial ?? id,
  });
  const newJob = () =>
    show((close) => (
      <Suspense>
        <NewJob
          phones={ids}
          close={close}
          created={(job) => {
            close();
            clear();
            openJob(job);
          }}
        />
      </Suspense>
    ));
  return (
    <section
      aria-label={t.operate.selection}
      className="mx-6 mt-2 flex shrink-0 flex-wrap items-center gap-2 rounded-lg border border-accent bg-accent-soft px-3 py-2 max-sm:mx-4"
    >
      <span className="text-sm font-medium" aria-live="polite">
        {t.common.selected(ids.length)}
        {ids.length >= BULK_MAX && <span className="ml-2 font-normal text-ink-2">{t.operate.selectedMost}</span>}
      </span>
      {mayReset && (
        <Button icon="reset" disabled={failing.length === 0 || reset.isPending} onClick={() => reset.mutate(failing)}>
          {t.operate.resetMany(failing.length)}
        </Button>
      )}
      {mayCreate && (
        <Button icon="plus" disabled={ids.length === 0} onClick={newJob}>
          {t.operate.jobForThese}
        </Button>
      )}
      {mayMove && (
        <Button
          icon="pc"
          disabled={ids.length === 0}
          onClick={() => show((close) => <MovePhones ids={ids} close={close} />)}
        >
          {t.operate.move}
        </Button>
      )}
      <span className="ml-auto flex gap-2">
        <Button kind="quiet" onClick={selectShown}>
          {t.operate.selectShown(Math.min(shown, BULK_MAX))}
        </Button>
        <Button kind="quiet" onClick={clear}>
          {t.operate.clearSelection}
        </Button>
      </span>
    </section>
  );
}
