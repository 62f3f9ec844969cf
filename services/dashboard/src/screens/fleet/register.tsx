/** Registers phones by their serial numbers, one or a pasted list, on one PC and in one group. */
import { type ReactNode, useState } from "react";
import { useApp, useLive } from "@/app/context";
import { useOperateText } from "@/farm/operate-words";
import { namesIn } from "@/farm/phone-names";
import { useBulk } from "@/farm/use-bulk";
import { BULK_MAX } from "@/lib/rest/bulk";
import { registerInBulk } from "@/lib/rest/device-commands";
import { DialogForm } from "@/ui/dialog-form";
import { TextArea } from "@/ui/text-area";
import { GROUP_NAME, PC_NAME, PlaceFields } from "./place-fields";
import { serialsFault } from "./serials";

export function RegisterPhones({ close }: { close: () => void }): ReactNode {
  const t = useOperateText();
  const { client } = useApp();
  const { fleet } = useLive();
  const [text, setText] = useState("");
  const [place, setPlace] = useState({ pc: "", group: "" });
  const [isTried, setIsTried] = useState(false);
  const serials = namesIn(text.toUpperCase());
  const fault = serialsFault(serials);
  const register = useBulk({
    label: t.operate.registerLabel(serials.length),
    run: (list: readonly string[], key) =>
      registerInBulk(client, list, { pc_id: place.pc, group_id: place.group }, key),
    said: (count) => t.operate.registerDone(count),
    nameOf: (serial) => serial,
    done: close,
  });
  const isGood = fault === null && PC_NAME.test(place.pc) && GROUP_NAME.test(place.group);
  const wrong =
    fault === null || (!isTried && fault.kind === "none")
      ? undefined
      : { none: t.operate.serialsNone, many: t.operate.serialsMany(BULK_MAX), bad: t.operate.serialsBad(fault.names) }[
          fault.kind
        ];
  return (
    <DialogForm
      close={close}
      title={t.operate.register}
      lead={t.operate.registerLead}
      width="w-xl"
      noValidate
      submit={() => {
        setIsTried(true);
        if (isGood) register.mutate(serials);
      }}
      yes={t.operate.registerYes(serials.length)}
      disabled={register.isPending}
    >
      <TextArea
        label={t.operate.serials}
        rows={6}
        autoFocus
        value={text}
        hint={serials.length === 0 ? t.operate.phonesHint : t.operate.phonesFound(serials.length)}
        wrong={wrong}
        onChange={setText}
      />
      <PlaceFields
        {...place}
        hint={fleet.pcs.get(place.pc) === undefined ? t.operate.pcHint : ""}
        wrongPc={isTried && !PC_NAME.test(place.pc) ? t.operate.pcNameWrong : undefined}
        wrongGroup={isTried && !GROUP_NAME.test(place.group) ? t.operate.groupNameWrong : undefined}
        onChange={(part) => setPlace((before) => ({ ...before, ...part }))}
      />
    </DialogForm>
  );
}
