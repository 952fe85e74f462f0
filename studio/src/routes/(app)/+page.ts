import { redirect } from "@sveltejs/kit";
import { resolve } from "$app/paths";

import { session } from "#lib/session.svelte.ts";

/** Show learners the chat. */
export const load = async ({ parent }): Promise<void> => {
  await parent();
  if (session.learns) redirect(307, resolve("chat"));
};
