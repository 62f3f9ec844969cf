/** Moves phones to another PC or group. A phone that has work keeps its PC; the report names it. */
import { type ReactNode, useState } from "react";
import { useApp, useLive } from "@/app/context";
import { useOperateText } from "@/farm/operate-words";
import { useBulk } from "@/farm/use-bulk";
import { moveInBulk, type Place } from "@/lib/rest/device-commands";
import { DialogForm } from "@/ui/dialog-form";
import { GROUP_NAME, PC_NAME, PlaceFields } from "./place-fields";

export function MovePhones({ ids, close }: { ids: readonly string[]; close: () => void }): ReactNode {
  const t = useOperateText();
  const { client } = useApp();
  const { fleet } = useLive();
  const [place, setPlace] = useState({ pc: "", group: "" });
  const move = useBulk({
    label: t.operate.moveLabel(ids.length),
    run: (to: Place, key) => moveInBulk(client, ids, to, key),
    said: (count) => t.operate.moveDone(count),
    nameOf: (id) => fleet.devices.get(id)?.serial ?? id,
    done: close,
  });
  const wrongPc = place.pc !== "" && !PC_NAME.test(place.pc) ? t.operate.pcNameWrong : undefined;
  const wrongGroup = place.group !== "" && !GROUP_NAME.test(place.group) ? t.operate.groupNameWrong : undefined;
  const isGood = wrongPc === undefined && wrongGroup === undefined && (place.pc !== "" || place.group !== "");
  const to: Place = {
    ...(place.pc === "" ? {} : { pc_id: place.pc }),
    ...(place.group === "" ? {} : { group_id: place.group }),
  };
  return (
    <DialogForm
      close={close}
      title={t.operate.moveTitle(ids.length)}
      lead={t.operate.moveLead}
      width="w-xl"
      submit={() => move.mutate(to)}
      yes={t.operate.moveYes}
      disabled={!isGood || move.isPending}
    >
      <PlaceFields
        {...place}
        hint={t.operate.moveHint}
        wrongPc={wrongPc}
        wrongGroup={wrongGroup}
        onChange={(part) => setPlace((before) => ({ ...before, ...part }))}
      />
    </DialogForm>
  );
}
