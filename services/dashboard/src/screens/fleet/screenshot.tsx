/** A screenshot that Drover keeps, as a picture. It is loaded when somebody asks for it, because each look is recorded. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Confirm } from "@/app/confirm";
import { useApp, useMay } from "@/app/context";
import { useDialog } from "@/app/dialog-host";
import { useErrorText } from "@/lib/errors/error-text";
import { ApiError } from "@/lib/session/errors";
import { ActionButton, Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { type EvidenceText, useEvidenceText } from "./evidence-words";

interface ScreenshotProps {
  readonly path: string;
  readonly device: { readonly id: string; readonly serial: string };
  readonly assignment: string;
}

export function OwnScreenshot(props: ScreenshotProps): ReactNode {
  const t = useEvidenceText();
  const [isAsked, setIsAsked] = useState(false);
  if (isAsked) return <Picture {...props} />;
  return (
    <Button icon="phone" title={t.evidence.showHint} onClick={() => setIsAsked(true)}>
      {t.evidence.show}
    </Button>
  );
}

function Picture({ path, device, assignment }: ScreenshotProps): ReactNode {
  const t = useEvidenceText();
  const errorText = useErrorText();
  const { client } = useApp();
  const show = useDialog();
  const [isBroken, setIsBroken] = useState(false);
  const { data, error, refetch, isFetching } = useQuery({
    queryKey: ["evidence", path],
    // As a `data:` address: an `img` sends no token, and the page's policy allows no other source.
    queryFn: async () => addressOf(await (await client.request(path)).blob()),
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  if (error !== null) {
    const known = faultText(t, error);
    return (
      <div role="status" className="flex flex-wrap items-center gap-2 text-xs text-ink-3">
        <span>{known ?? errorText(error)}</span>
        {known === null && (
          <Button disabled={isFetching} onClick={() => void refetch()}>
            {t.common.retry}
          </Button>
        )}
      </div>
    );
  }
  if (data === undefined) {
    return (
      <p role="status" className="text-xs text-ink-3">
        {t.evidence.loading}
      </p>
    );
  }
  if (isBroken) return <p className="text-xs text-ink-3">{t.evidence.broken}</p>;
  const alt = t.evidence.alt(device.serial);
  const enlarge = () =>
    show((close) => (
      <Dialog title={t.evidence.title} lead={alt} close={close} width="w-fit">
        <img src={data} alt={alt} className="mx-auto max-h-[65vh] max-w-full rounded-md border border-line" />
      </Dialog>
    ));
  return (
    <div className="flex flex-wrap items-end gap-2">
      <button type="button" aria-label={t.evidence.enlarge} title={t.evidence.enlarge} onClick={enlarge}>
        <img
          src={data}
          alt={alt}
          className="max-h-56 max-w-full rounded-md border border-line"
          onError={() => setIsBroken(true)}
        />
      </button>
      <EraseScreenshots device={device} assignment={assignment} />
    </div>
  );
}

function EraseScreenshots({ device, assignment }: Omit<ScreenshotProps, "path">): ReactNode {
  const t = useEvidenceText();
  const mayErase = useMay("erase");
  const { client, toasts } = useApp();
  const queries = useQueryClient();
  const show = useDialog();
  const erase = useMutation({
    mutationFn: () =>
      client.sensitive(t.evidence.erase, () =>
        client.json<{ pictures: number }>(`/api/erasures/evidence/${device.id}?assignment_id=${assignment}`, {
          method: "POST",
        }),
      ),
    onSuccess: ({ pictures }) => {
      toasts.show({ kind: "done", title: t.evidence.erased(pictures) });
      return queries.resetQueries({ queryKey: ["evidence"] });
    },
  });
  if (!mayErase) return null;
  const ask = () =>
    show((close) => (
      <Confirm
        title={t.evidence.eraseTitle}
        subject={device.serial}
        lead={t.evidence.eraseLead}
        keep={t.evidence.keep}
        yes={t.evidence.erase}
        close={close}
        confirm={erase.mutate}
      />
    ));
  return (
    <ActionButton icon="remove" label={t.evidence.erase} isSmall isDanger disabled={erase.isPending} onClick={ask} />
  );
}

/** What is wrong, in words of its own; null: try again. */
function faultText(t: EvidenceText, error: unknown): string | null {
  if (!(error instanceof ApiError)) return null;
  if (error.status === 404) return t.evidence.gone;
  return error.code === "EVIDENCE_NOT_CONFIGURED" ? t.evidence.notConfigured : null;
}

function addressOf(picture: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(picture);
  });
}
