/** Inputs with a name, a hint and what is wrong with them. */
import { type InputHTMLAttributes, type ReactNode, type SelectHTMLAttributes, useId } from "react";
import { useText } from "@/lib/i18n/i18n";

export const INPUT =
  "h-8 w-full rounded-md border border-line-strong bg-surface px-2.5 text-sm text-ink pointer-coarse:h-9 " +
  "aria-[invalid=true]:border-error disabled:opacity-50";

interface Labelled {
  readonly label: string;
  readonly hint?: string | undefined;
  readonly wrong?: string | undefined;
}

export function Field({
  label,
  hint,
  wrong,
  className = "",
  ...rest
}: Labelled & InputHTMLAttributes<HTMLInputElement>): ReactNode {
  const id = useId();
  const about = `${id}-about`;
  return (
    <div className={className}>
      <label htmlFor={id} className="mb-1 block text-sm font-medium text-ink-2">
        {label}
      </label>
      <input
        id={id}
        className={INPUT}
        aria-invalid={wrong !== undefined}
        aria-describedby={(wrong ?? hint) ? about : undefined}
        {...rest}
      />
      <Remark id={about} hint={hint} wrong={wrong} />
    </div>
  );
}

export function Remark({
  id,
  hint,
  wrong,
}: {
  id?: string;
  hint?: string | undefined;
  wrong?: string | undefined;
}): ReactNode {
  if (wrong !== undefined) {
    return (
      <p id={id} className="mt-1 text-xs text-error-ink">
        {wrong}
      </p>
    );
  }
  return hint === undefined ? null : (
    <p id={id} className="mt-1 text-xs text-ink-3">
      {hint}
    </p>
  );
}

/** One of a few choices, by its name. */
export interface Choosing<T extends string> {
  readonly label: string;
  readonly value: T;
  readonly choices: readonly { readonly value: T; readonly label: string }[];
  readonly onChange: (value: T) => void;
}

export function SelectField<T extends string>({
  label,
  value,
  choices,
  onChange,
  isLabelHidden = false,
  className = "",
  ...rest
}: Choosing<T> & { isLabelHidden?: boolean } & Omit<
    SelectHTMLAttributes<HTMLSelectElement>,
    "onChange" | "value"
  >): ReactNode {
  const id = useId();
  return (
    <div className={className}>
      <label htmlFor={id} className={isLabelHidden ? "sr-only" : "mb-1 block text-sm font-medium text-ink-2"}>
        {label}
      </label>
      <select
        id={id}
        className={`${INPUT} pr-7`}
        value={value}
        onChange={(event) => onChange(event.target.value as T)}
        {...rest}
      >
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.label}
          </option>
        ))}
      </select>
    </div>
  );
}

/** One of a few, or all of them: then `value` is undefined. */
export function FilterField<T extends string>({
  value,
  choices,
  labelOf,
  onChange,
  ...rest
}: {
  label: string;
  value: T | undefined;
  choices: readonly T[];
  labelOf: Readonly<Record<T, string>>;
  onChange: (value: T | undefined) => void;
  className: string;
}): ReactNode {
  const t = useText();
  return (
    <SelectField<T | "all">
      {...rest}
      isLabelHidden
      value={value ?? "all"}
      choices={[
        { value: "all", label: t.common.all },
        ...choices.map((choice) => ({ value: choice, label: labelOf[choice] })),
      ]}
      onChange={(chosen) => onChange(chosen === "all" ? undefined : chosen)}
    />
  );
}

/** A few choices side by side, one of which holds. */
export function Segmented<T extends string>({ label, value, choices, onChange }: Choosing<T>): ReactNode {
  const name = useId();
  return (
    <fieldset className="inline-flex h-8 max-w-full shrink-0 rounded-md border border-line-strong bg-sunken p-0.5 max-sm:h-auto max-sm:flex-wrap pointer-coarse:sm:h-9">
      <legend className="sr-only">{label}</legend>
      {choices.map((choice) => (
        <label
          key={choice.value}
          className="flex items-center rounded-[5px] px-2.5 text-sm max-sm:h-8 text-ink-2 select-none has-checked:bg-surface has-checked:font-medium has-checked:text-ink has-checked:shadow-sm dark:has-checked:bg-line-strong has-focus-visible:outline-2 has-focus-visible:outline-(--focus)"
        >
          <input
            type="radio"
            name={name}
            className="sr-only"
            checked={choice.value === value}
            onChange={() => onChange(choice.value)}
          />
          {choice.label}
        </label>
      ))}
    </fieldset>
  );
}
