/** Priorities as the server takes them. */

export const PRIORITY_MAX = 100;

export function isPriority(text: string): boolean {
  return /^[-+]?\d{1,3}$/.test(text.trim()) && Math.abs(Number(text)) <= PRIORITY_MAX;
}
