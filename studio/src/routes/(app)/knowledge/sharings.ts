/** With whom a user may share a collection. */

import { t } from "#lib/i18n/index.svelte.ts";
import { session } from "#lib/session.svelte.ts";
import type { Sharing } from "./knowledge.ts";

const OF_USERS: readonly Sharing[] = ["private", "organization"];

/** Return the choices: those of the user, and the present one. */
export function sharings(present: Sharing = "private"): { value: Sharing; label: string }[] {
  const everyone = session.may("manage_installation") || present === "everyone";
  const values: Sharing[] = everyone ? [...OF_USERS, "everyone"] : [...OF_USERS];
  return values.map((value) => ({ value, label: t(`knowledge.sharing.${value}`) }));
}
