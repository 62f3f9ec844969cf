/** E-mail and password. What follows is up to the page around it. */
import { type FormEvent, type ReactNode, useState } from "react";
import { useApp } from "@/app/context";
import { useErrorText } from "@/lib/errors/error-text";
import { useText } from "@/lib/i18n/i18n";
import { ApiError } from "@/lib/session/errors";
import { Button } from "@/ui/button";
import { Field } from "@/ui/field";

const RETRY_AFTER_S = 60;

export function SignInForm(): ReactNode {
  const { client } = useApp();
  const t = useText();
  const errorText = useErrorText();
  const [isBusy, setIsBusy] = useState(false);
  const [wrong, setWrong] = useState<string>();

  async function submit(event: FormEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setIsBusy(true);
    setWrong(undefined);
    try {
      await client.signIn(String(form.get("email")), String(form.get("password")));
    } catch (error) {
      setWrong(said(error));
    } finally {
      setIsBusy(false);
    }
  }

  function said(error: unknown): string {
    if (error instanceof ApiError && error.status === 429) {
      return t.session.tooMany(error.retryAfterS ?? RETRY_AFTER_S);
    }
    if (error instanceof ApiError && error.status < 500) return t.session.wrong;
    return errorText(error);
  }

  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <Field label={t.session.email} name="email" type="email" autoComplete="username" required autoFocus />
      <Field label={t.session.password} name="password" type="password" autoComplete="current-password" required />
      <div role="alert">{wrong !== undefined && <p className="text-sm text-error-ink">{wrong}</p>}</div>
      <Button kind="primary" type="submit" disabled={isBusy} className="h-9">
        {isBusy ? t.session.submitting : t.session.submit}
      </Button>
    </form>
  );
}
