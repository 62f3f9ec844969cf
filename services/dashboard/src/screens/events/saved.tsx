/** Searches that have a name: open one, save this one, delete one, copy its link. */
import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { useApp } from "@/app/context";
import { parseSearch, stringifySearch } from "@/app/search-params";
import { NAME_MAX, SAVED_MAX, type SavedSearches } from "@/lib/preferences/saved-searches";
import { useObservable } from "@/lib/react/use-observable";
import { Button, IconButton } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Field } from "@/ui/field";
import { Form } from "@/ui/form";
import { Empty } from "@/ui/states";
import type { EventsSearch } from "./search";
import { useEventsText } from "./words";

/** What is saved of a search: not which event is open. */
export function queryOf({ event: _event, ...search }: EventsSearch): string {
  return stringifySearch(search).replace(/^\?/, "");
}

interface SavedProps {
  readonly saved: SavedSearches;
  readonly search: EventsSearch;
  readonly close: () => void;
}

export function Saved({ saved, search, close }: SavedProps): ReactNode {
  const t = useEventsText();
  const { toasts } = useApp();
  const navigate = useNavigate();
  const searches = useObservable(saved);
  const [name, setName] = useState("");
  const [wrong, setWrong] = useState<string>();

  function save(): void {
    if (saved.save(name, queryOf(search))) setName("");
    else setWrong(t.searches.full(SAVED_MAX));
  }

  async function copy(query: string): Promise<void> {
    await navigator.clipboard?.writeText(`${location.origin}/events${query === "" ? "" : `?${query}`}`);
    toasts.show({ kind: "done", title: t.searches.copied });
  }

  return (
    <Dialog close={close} title={t.searches.saved} lead={t.searches.savedLead}>
      {searches.length === 0 ? (
        <Empty isSmall title={t.searches.none} />
      ) : (
        <ul aria-label={t.searches.saved} className="mb-4 max-h-64 divide-y divide-line overflow-y-auto">
          {searches.map((one) => (
            <li key={one.name} className="flex items-center gap-1 py-1">
              <button
                type="button"
                aria-label={t.searches.open(one.name)}
                className="min-w-0 flex-1 truncate rounded px-1 py-1 text-left text-sm font-medium hover:underline"
                onClick={() => {
                  close();
                  void navigate({ to: "/events", search: parseSearch(one.query) as never });
                }}
              >
                {one.name}
                <span className="block truncate text-xs font-normal text-ink-3">{one.query || t.searches.anyTime}</span>
              </button>
              <IconButton icon="copy" label={t.searches.copyLink(one.name)} onClick={() => void copy(one.query)} />
              <IconButton icon="remove" label={t.searches.remove(one.name)} onClick={() => saved.remove(one.name)} />
            </li>
          ))}
        </ul>
      )}
      <Form submit={save} className="flex items-end gap-2">
        <Field
          className="flex-1"
          label={t.searches.name}
          name="name"
          required
          maxLength={NAME_MAX}
          placeholder={t.searches.nameHint}
          value={name}
          wrong={wrong}
          onChange={(event) => {
            setWrong(undefined);
            setName(event.target.value);
          }}
        />
        <Button kind="primary" type="submit" disabled={name.trim() === ""}>
          {t.searches.save}
        </Button>
      </Form>
    </Dialog>
  );
}
