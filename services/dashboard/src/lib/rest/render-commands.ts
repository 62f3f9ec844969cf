/** What people can do with renders, compositions and fields, as calls. Each has its own key, as in `commands`. */
import { create, patch } from "./commands";
import { randomKey } from "./key";
import { quoted } from "./quoted";
import type { Server } from "./read";
import type { CompositionRow, FieldKind, FieldRow, RenderRow } from "./render-rows";

export interface NewRender {
  readonly composition_id: string;
  readonly gfx_data: Readonly<Record<string, unknown>>;
  readonly cue_item_id?: string;
  /** `2026-11-16`; left out: today in Seoul. */
  readonly broadcast_date?: string;
}

/** `pending` takes it from its worker, or runs it again where it failed or was cancelled. */
export type RenderChange = "cancelled" | "pending";

export interface Layer {
  readonly layer_name: string;
  readonly kind: FieldKind;
  readonly property: string;
}

export type NewField = Layer & Pick<FieldRow, "composition_id" | "field_name">;
export type Described = Partial<Pick<CompositionRow, "name" | "template" | "output_module">>;

export function createRender(server: Server, render: NewRender, key: string): Promise<RenderRow> {
  return create<RenderRow>(server, "render_queue", render, key);
}

export function changeRenders(server: Server, ids: readonly string[], status: RenderChange, key: string) {
  return patch(server, "render_queue", ids, { status }, key);
}

export function createComposition(server: Server, id: string, described: Described, key: string) {
  return create<CompositionRow>(server, "aep_compositions", { id, ...described }, key);
}

export function describeComposition(server: Server, id: string, described: Described, key = randomKey()) {
  return patch(server, "aep_compositions", [quoted(id)], described, key);
}

export function removeComposition(server: Server, id: string, key: string) {
  return remove(server, "aep_compositions", quoted(id), key);
}

export function mapField(server: Server, field: NewField, key: string): Promise<FieldRow> {
  return create<FieldRow>(server, "aep_field_mapping", field, key);
}

export function changeField(server: Server, id: number, layer: Layer, key = randomKey()) {
  return patch(server, "aep_field_mapping", [String(id)], layer, key);
}

export function unmapField(server: Server, id: number, key: string) {
  return remove(server, "aep_field_mapping", String(id), key);
}

function remove(server: Server, relation: string, id: string, key: string): Promise<Response> {
  const path = `/rest/v1/${relation}?id=in.(${encodeURIComponent(id)})`;
  return server.request(path, { method: "DELETE", headers: { "Idempotency-Key": key } });
}
