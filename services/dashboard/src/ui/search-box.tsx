/** A box to look for something on this page; `/` leads into it, Escape empties it. */
import type { ReactNode, Ref } from "react";
import { useText } from "@/lib/i18n/i18n";
import { Icon } from "./icon";

export const SEARCH_BOX = "data-search-box";

export function SearchBox({
  value,
  hint,
  onChange,
  ref,
  className = "w-64 min-w-28 shrink max-sm:grow",
}: {
  value: string;
  hint: string;
  onChange: (value: string) => void;
  ref?: Ref<HTMLInputElement>;
  className?: string;
}): ReactNode {
  const t = useText();
  return (
    <div className={`relative ${className}`}>
      <Icon name="search" className="pointer-events-none absolute top-1/2 left-2.5 -translate-y-1/2 text-ink-3" />
      <input
        ref={ref}
        {...{ [SEARCH_BOX]: "" }}
        type="search"
        aria-label={t.common.search}
        placeholder={hint}
        value={value}
        spellCheck={false}
        autoComplete="off"
        className="h-8 w-full appearance-none rounded-md border pointer-coarse:h-9 border-line-strong bg-surface pr-7 pl-8 text-sm"
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          event.stopPropagation();
          if (value === "") event.currentTarget.blur();
          else onChange("");
        }}
      />
      {value !== "" && (
        <button
          type="button"
          aria-label={t.common.clear}
          className="absolute inset-y-0 right-0.5 grid w-7 place-items-center rounded text-ink-3 hover:text-ink"
          onClick={() => onChange("")}
        >
          <Icon name="close" />
        </button>
      )}
    </div>
  );
}
