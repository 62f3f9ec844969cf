/** From when to when: the last so many minutes, or between two moments. */
import { type ReactNode, useState } from "react";
import type { Change } from "@/app/use-change";
import { INPUT, SelectField } from "@/ui/field";
import { isoOf, LASTS, type Last, localOf } from "./range";
import type { EventsSearch } from "./search";
import { useEventsText } from "./words";

export function RangeField({ search, change }: { search: EventsSearch; change: Change<EventsSearch> }): ReactNode {
  const t = useEventsText();
  const [isOpen, setIsOpen] = useState(false);
  const isBetween = isOpen || search.from !== undefined || search.to !== undefined;
  const isBackwards = search.from !== undefined && search.to !== undefined && search.from >= search.to;

  function choose(value: Last | "any" | "between"): void {
    setIsOpen(value === "between");
    if (value === "between") change({ last: undefined });
    else change({ last: value === "any" ? undefined : value, from: undefined, to: undefined });
  }

  return (
    <>
      <SelectField<Last | "any" | "between">
        isLabelHidden
        className="w-40"
        label={t.searches.time}
        value={isBetween ? "between" : (search.last ?? "any")}
        choices={[
          { value: "any", label: t.searches.anyTime },
          ...LASTS.map((value) => ({ value, label: t.searches.lasts[value] })),
          { value: "between", label: t.searches.between },
        ]}
        onChange={choose}
      />
      {isBetween &&
        (["from", "to"] as const).map((end) => (
          <input
            key={end}
            type="datetime-local"
            aria-label={t.searches[end]}
            title={isBackwards ? t.searches.backwards : t.searches[end]}
            aria-invalid={isBackwards}
            className={`${INPUT} w-48!`}
            value={localOf(search[end])}
            onChange={(event) => change({ [end]: isoOf(event.target.value) })}
          />
        ))}
      {isBackwards && (
        <span role="alert" className="text-xs text-error-ink">
          {t.searches.backwards}
        </span>
      )}
    </>
  );
}
