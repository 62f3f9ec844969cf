/** An error code, and what it means. */
import type { ReactNode } from "react";
import { BY_NUMBER, type ErrorCode } from "@/lib/i18n/codes";
import type { Dictionary } from "@/lib/i18n/en";
import { useText } from "@/lib/i18n/i18n";

/** Names and numbers are one: both are counted as the name. */
export function codeName(code: string): string {
  return BY_NUMBER[code] ?? code;
}

export function codeText(t: Dictionary, code: string): string {
  const name = codeName(code);
  return Object.hasOwn(t.codes, name) ? t.codes[name as ErrorCode] : code;
}

export function Code({ code }: { code: string }): ReactNode {
  const t = useText();
  return (
    <span title={code} className="text-error-ink">
      {codeText(t, code)}
    </span>
  );
}

/** Why an attempt ended so, after what is said of it. */
export function Cause({ code, message }: { code: string | null; message: string | null }): ReactNode {
  return (
    <>
      {code !== null && " · "}
      {code !== null && <Code code={code} />}
      {message !== null && <span title={message}> · {message}</span>}
    </>
  );
}
