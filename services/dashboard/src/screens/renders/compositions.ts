/** Compositions and their fields, as they are mapped now. */
import { useQuery } from "@tanstack/react-query";
import { useApp } from "@/app/context";
import { rows } from "@/lib/rest/read";
import type { CompositionRow, FieldRow, RenderRow } from "@/lib/rest/render-rows";

const COMPOSITIONS_MAX = 1_000;
const FIELDS_MAX = 1_000;
/** Of the renders of a composition: those in which fields may have had no layer. */
const RENDERS_LOOKED_AT = 50;

export function useCompositions() {
  const { client } = useApp();
  return useQuery({
    queryKey: ["compositions"],
    queryFn: () => rows<CompositionRow>(client, "aep_compositions", { order: "id", limit: COMPOSITIONS_MAX }),
  });
}

export function useFields(composition: string | undefined) {
  const { client } = useApp();
  return useQuery({
    queryKey: ["fields", composition],
    queryFn: () =>
      rows<FieldRow>(client, "aep_field_mapping", {
        composition_id: `eq.${composition ?? ""}`,
        order: "id",
        limit: FIELDS_MAX,
      }),
    enabled: composition !== undefined && composition !== "",
  });
}

/** Fields that recent renders brought along and that had no layer. */
export function useUnmapped(composition: string | undefined) {
  const { client } = useApp();
  return useQuery({
    queryKey: ["unmapped", composition],
    queryFn: async () => {
      const found = await rows<Pick<RenderRow, "unmapped_fields">>(client, "render_queue", {
        select: "unmapped_fields",
        composition_id: `eq.${composition ?? ""}`,
        order: "created_at.desc",
        limit: RENDERS_LOOKED_AT,
      });
      return [...new Set(found.flatMap((row) => row.unmapped_fields))].filter(isFieldName).sort(inOrder);
    },
    enabled: composition !== undefined,
  });
}

/** What can have a layer. Others tell why something was not drawn. */
export function isFieldName(text: string): boolean {
  return /^(Slot \d+ - [^:]+|Single - [^:]+|Flag \d+|Flag - [^:]+)$/.test(text);
}

const byName = new Intl.Collator("en", { numeric: true });

/** Slot 2 before Slot 10. */
export function inOrder(a: string, b: string): number {
  return byName.compare(a, b);
}
