/** Error codes, device conditions and kinds of alerts that have words of their own. Others are shown as they are. */

export const ERROR_CODES = [
  "CONNECTION_FAILED",
  "REQUEST_TIMEOUT",
  "RATE_LIMITED",
  "VIDEO_UNAVAILABLE",
  "VIDEO_REGION_BLOCKED",
  "VIDEO_AGE_RESTRICTED",
  "VIDEO_NETWORK_ERROR",
  "PLAYBACK_STALLED",
  "APP_CRASH",
  "OUT_OF_MEMORY",
  "SCREEN_LOCKED",
  "BATTERY_LOW",
  "UNKNOWN",
  "TIMEOUT",
  "NETWORK_LOST",
  "DEVICE_ERROR",
  "TASK_DEVICE_FAILED",
] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];

/** Agents may say the number instead (000 §7). */
export const BY_NUMBER: Readonly<Record<string, ErrorCode>> = {
  E1001: "CONNECTION_FAILED",
  E1002: "REQUEST_TIMEOUT",
  E1003: "RATE_LIMITED",
  E2001: "VIDEO_UNAVAILABLE",
  E2002: "VIDEO_REGION_BLOCKED",
  E2003: "VIDEO_AGE_RESTRICTED",
  E2004: "VIDEO_NETWORK_ERROR",
  E3001: "APP_CRASH",
  E3002: "OUT_OF_MEMORY",
  E3003: "SCREEN_LOCKED",
  E3004: "BATTERY_LOW",
  E4001: "UNKNOWN",
};

export const ALERT_KINDS = [
  "poison_job",
  "host_failing",
  "host_silent",
  "needs_reset",
  "offers_untaken",
  "rate_limited",
  "caller_limited",
  "no_render_worker",
  "nexrender_down",
  "nexrender_refused",
  "template_missing",
  "mapping_missing",
  "gfx_data_unreadable",
  "render_failed",
  "render_timeout",
  "nas_away",
  "render_recovering",
  "render_not_stopped",
  "cleanup_failed",
  "push_failing",
  "minute_crowded",
  "refresh_token_reused",
] as const;
