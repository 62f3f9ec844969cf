/** Another password for oneself: all other sessions end with the old one. */
import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useApp } from "@/app/context";
import { usePrepareSensitive } from "@/app/prepare-sensitive";
import { FAULT_IN_FORM } from "@/app/queries";
import { useErrorText } from "@/lib/errors/error-text";
import { useText } from "@/lib/i18n/i18n";
import { withBody } from "@/lib/rest/commands";
import { ApiError } from "@/lib/session/errors";
import { DialogForm } from "@/ui/dialog-form";
import { Field } from "@/ui/field";

export function ChangePassword({ close }: { close: () => void }): ReactNode {
  const t = useText();
  usePrepareSensitive();
  const { client, toasts } = useApp();
  const errorText = useErrorText();
  const [before, setBefore] = useState("");
  const [after, setAfter] = useState("");
  const change = useMutation({
    meta: FAULT_IN_FORM,
    mutationFn: () => {
      const body = { current_password: before, new_password: after };
      return client.sensitive(t.system.changePassword, () =>
        client.request("/api/auth/password", withBody("POST", body)),
      );
    },
    onSuccess: () => {
      toasts.show({ kind: "done", title: t.system.passwordChanged });
      close();
    },
  });
  const isWrong = change.error instanceof ApiError && change.error.code === "INVALID_CREDENTIALS";
  function submit(): void {
    if (before !== "" && after !== "") change.mutate();
  }
  return (
    <DialogForm
      close={close}
      title={t.system.changePassword}
      lead={t.system.passwordLead}
      submit={submit}
      yes={t.system.changePassword}
      disabled={change.isPending || before === "" || after === ""}
    >
      <Field
        label={t.system.currentPassword}
        type="password"
        autoComplete="current-password"
        autoFocus
        value={before}
        wrong={isWrong ? t.system.wrongPassword : undefined}
        onChange={(event) => setBefore(event.target.value)}
      />
      <Field
        label={t.system.newPassword}
        type="password"
        autoComplete="new-password"
        value={after}
        wrong={change.error !== null && !isWrong ? errorText(change.error) : undefined}
        onChange={(event) => setAfter(event.target.value)}
      />
    </DialogForm>
  );
}
