/** Which phones a job is for, in words. */
import type { Dictionary } from "@/lib/i18n/en";
import type { Target } from "@/lib/rest/rows";

export function targetText(t: Dictionary, target: Target | null): string {
  if (target === null) return t.queue.everyone;
  const words: string[] = [];
  if (target.group_id !== undefined) words.push(t.queue.group(target.group_id));
  if (target.pc_id !== undefined) words.push(t.queue.onPc(target.pc_id));
  if (target.device_ids !== undefined) words.push(t.queue.named(target.device_ids.length));
  if (target.count !== undefined) words.push(t.queue.atMost(target.count));
  return words.length === 0 ? t.queue.everyone : words.join(", ");
}
