/** A text that names one of a list: the list narrows while it is written, and one of it can be chosen. */
import { Autocomplete } from "@base-ui/react/autocomplete";
import { type ReactNode, useId } from "react";
import { INPUT, Remark } from "./field";

export interface Choice {
  /** What the text becomes when it is chosen. */
  readonly value: string;
  /** What people call it; empty: by its value alone. */
  readonly name: string;
}

export function ComboboxField({
  label,
  value,
  choices,
  empty,
  hint,
  wrong,
  autoFocus = false,
  onChange,
}: {
  label: string;
  value: string;
  choices: readonly Choice[];
  /** Said in the list when nothing in it has the text. */
  empty: string;
  hint?: string | undefined;
  wrong?: string | undefined;
  autoFocus?: boolean;
  onChange: (text: string) => void;
}): ReactNode {
  const id = useId();
  const about = `${id}-about`;
  return (
    <Autocomplete.Root
      items={choices}
      value={value}
      onValueChange={onChange}
      itemToStringValue={(choice: Choice) => choice.value}
      filter={(choice: Choice, text) => hasText(choice, text)}
      openOnInputClick
    >
      <div>
        <label htmlFor={id} className="mb-1 block text-sm font-medium text-ink-2">
          {label}
        </label>
        <Autocomplete.Input
          id={id}
          autoFocus={autoFocus}
          spellCheck={false}
          className={INPUT}
          aria-invalid={wrong !== undefined}
          aria-describedby={(wrong ?? hint) ? about : undefined}
        />
        <Remark id={about} hint={hint} wrong={wrong} />
      </div>
      <Autocomplete.Portal>
        <Autocomplete.Positioner className="z-50 outline-none" sideOffset={4} align="start">
          <Autocomplete.Popup className="max-h-[min(20rem,var(--available-height))] w-(--anchor-width) min-w-72 max-w-(--available-width) overflow-y-auto rounded-md border border-line bg-surface p-1 shadow-raised">
            <Autocomplete.Empty className="px-2 py-1.5 text-sm text-ink-3 empty:p-0">{empty}</Autocomplete.Empty>
            <Autocomplete.List>
              {(choice: Choice) => (
                <Autocomplete.Item
                  key={choice.value}
                  value={choice}
                  className="flex h-8 cursor-pointer items-center gap-2.5 rounded-md px-2 text-sm data-highlighted:bg-hover"
                >
                  <span className="truncate">{choice.name || choice.value}</span>
                  {choice.name !== "" && (
                    <span className="ml-auto shrink-0 font-mono text-xs text-ink-3">{choice.value}</span>
                  )}
                </Autocomplete.Item>
              )}
            </Autocomplete.List>
          </Autocomplete.Popup>
        </Autocomplete.Positioner>
      </Autocomplete.Portal>
    </Autocomplete.Root>
  );
}

/** All its words, in the value or in the name, whatever their case. */
export function hasText(choice: Choice, text: string): boolean {
  const there = `${choice.value} ${choice.name}`.toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => there.includes(word));
}

/** The one that the text names: by its value, else by its name, if no other has the same. */
export function chosenOf<T extends Choice>(choices: readonly T[], text: string): T | undefined {
  const wanted = text.trim();
  const exact = choices.find((choice) => choice.value === wanted);
  if (exact !== undefined || wanted === "") return exact;
  const called = (name: string) => name.toLowerCase() === wanted.toLowerCase();
  const named = choices.filter((choice) => called(choice.name) || called(choice.value));
  return named.length === 1 ? named[0] : undefined;
}
