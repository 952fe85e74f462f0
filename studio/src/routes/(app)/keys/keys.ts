import type { components } from "#lib/api/schema.d.ts";

export type ApiKey = components["schemas"]["Key"];
export const SCOPES = ["organization_admin", "admin"] as const;
export type Scope = (typeof SCOPES)[number];
const SECONDS_OF_A_DAY = 86_400;

export const isScope = (text: string): text is Scope => (SCOPES as readonly string[]).includes(text);

/** Return whether a key is accepted. */
export function stateOf(key: ApiKey): "valid" | "expired" | "revoked" {
  if (key.revoked_at) return "revoked";
  return key.expires_at && key.expires_at * 1000 <= Date.now() ? "expired" : "valid";
}

/** Return when a key ends, in seconds since 1970, null for never or a day that is missing.
 *
 * `end` is a number of days, `never`, or `day` with the last day as `YYYY-MM-DD`.
 */
export function endOf(end: string, lastDay: string): number | null {
  if (end === "never") return null;
  if (end !== "day") return Math.floor(Date.now() / 1000) + Number(end) * SECONDS_OF_A_DAY;
  const start = new Date(`${lastDay}T00:00:00`).getTime();
  return Number.isNaN(start) ? null : Math.floor(start / 1000) + SECONDS_OF_A_DAY;
}
