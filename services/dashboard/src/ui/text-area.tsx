/** A field of several lines, with its name, a hint and what is wrong with it. */
import { type ReactNode, useId } from "react";
import { Remark } from "./field";

interface TextAreaProps {
  readonly label: string;
  readonly value: string;
  readonly hint?: string | undefined;
  readonly wrong?: string | undefined;
  readonly rows?: number;
  readonly autoFocus?: boolean;
  readonly onChange: (text: string) => void;
}

export function TextArea({
  label,
  value,
  hint,
  wrong,
  rows = 4,
  autoFocus = false,
  onChange,
}: TextAreaProps): ReactNode {
  const id = useId();
  const about = `${id}-about`;
  return (
    <div>
      <label htmlFor={id} className="mb-1 block text-sm font-medium text-ink-2">
        {label}
      </label>
      <textarea
        id={id}
        rows={rows}
        // biome-ignore lint/a11y/noAutofocus: the first field of a dialog
        autoFocus={autoFocus}
        spellCheck={false}
        value={value}
        aria-invalid={wrong !== undefined}
        aria-describedby={about}
        onChange={(event) => onChange(event.target.value)}
        className="w-full rounded-md border border-line-strong bg-surface px-2.5 py-1.5 font-mono text-xs text-ink aria-[invalid=true]:border-error"
      />
      <Remark id={about} hint={hint} wrong={wrong} />
    </div>
  );
}
