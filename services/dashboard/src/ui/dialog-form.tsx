/** A form in a dialog, with the way out beside the button that sends it. */
import type { ReactNode } from "react";
import { useText } from "@/lib/i18n/i18n";
import { Button } from "./button";
import { Dialog, type DialogProps } from "./dialog";
import { Form, type FormProps } from "./form";

interface DialogFormProps extends DialogProps, Pick<FormProps, "submit" | "noValidate"> {
  readonly close: () => void;
  /** What the button that sends it says. */
  readonly yes: string;
  readonly disabled: boolean;
}

export function DialogForm({
  submit,
  noValidate = false,
  yes,
  disabled,
  children,
  ...dialog
}: DialogFormProps): ReactNode {
  const t = useText();
  return (
    <Dialog {...dialog}>
      <Form submit={submit} noValidate={noValidate} className="flex flex-col gap-4">
        {children}
        <div className="flex justify-end gap-2">
          <Button onClick={dialog.close}>{t.common.cancel}</Button>
          <Button kind="primary" type="submit" disabled={disabled}>
            {yes}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
