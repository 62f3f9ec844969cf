/** The finished file, to look at. Where it cannot be had, it says why. */
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { useApp, useMay } from "@/app/context";
import { get } from "@/lib/api/get";
import type { RenderPreview } from "@/lib/api/schema";
import { useErrorText } from "@/lib/errors/error-text";
import type { Dictionary } from "@/lib/i18n/en";
import { useText } from "@/lib/i18n/i18n";
import { ApiError } from "@/lib/session/errors";
import { Button, buttonClass } from "@/ui/button";
import { Icon } from "@/ui/icon";

/** Once more, should the address have ended while somebody looked elsewhere. */
const ADDRESSES_MAX = 2;

export function Film({ id, name }: { id: string; name: string }): ReactNode {
  const maySee = useMay("see-films");
  return maySee ? <Player id={id} name={name} /> : null;
}

function Player({ id, name }: { id: string; name: string }): ReactNode {
  const t = useText();
  const errorText = useErrorText();
  const { client } = useApp();
  const [round, setRound] = useState(1);
  const { data, error, refetch, isFetching } = useQuery({
    queryKey: ["film", id, round],
    queryFn: () => get(client, "/api/renders/{id}/preview", { id: Number(id) }),
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  // Whatever is read again meanwhile: a film that plays keeps its address.
  const [film, setFilm] = useState<RenderPreview>();
  const [isUnplayable, setIsUnplayable] = useState(false);
  useEffect(() => setFilm((before) => before ?? data), [data]);

  function failed(): void {
    if (round >= ADDRESSES_MAX) {
      setIsUnplayable(true);
    } else {
      setFilm(undefined);
      setRound(round + 1);
    }
  }

  if (film === undefined) {
    if (error === null) return <Frame>{t.renders.film.looking}</Frame>;
    return (
      <Frame>
        <span>{filmFault(t, error) ?? errorText(error)}</span>
        <Button className="mt-2" disabled={isFetching} onClick={() => void refetch()}>
          {t.common.retry}
        </Button>
      </Frame>
    );
  }
  return (
    <figure className="mb-2">
      {isUnplayable ? (
        <Frame>{t.renders.film.unplayable}</Frame>
      ) : (
        // biome-ignore lint/a11y/useMediaCaption: what is rendered is text already, and has no sound of its own
        <video
          key={film.url}
          controls
          playsInline
          preload="metadata"
          aria-label={t.renders.film.of(name)}
          src={film.url}
          className="aspect-video w-full rounded-md bg-black"
          onError={failed}
        />
      )}
      <figcaption className="mt-1.5 flex justify-end">
        <a href={`${film.url}&download=true`} download={film.name} className={buttonClass()}>
          <Icon name="leave" className="rotate-90" />
          {t.renders.film.download}
        </a>
      </figcaption>
    </figure>
  );
}

function Frame({ children }: { children: ReactNode }): ReactNode {
  return (
    <div
      role="status"
      className="mb-2 flex aspect-video w-full flex-col items-center justify-center rounded-md bg-sunken px-6 text-center text-sm text-ink-2"
    >
      {children}
    </div>
  );
}

/** What is wrong, in words of its own; null: nothing that is known here. */
export function filmFault(t: Dictionary, error: unknown): string | null {
  return error instanceof ApiError ? (t.renders.film.faults[error.code] ?? null) : null;
}
