/** Who may see screens. */

import { redirect } from "@sveltejs/kit";
import { resolve } from "$app/paths";

import { session } from "./session.svelte.ts";

/** Show a screen to users who are signed in, and the way to sign in to others: the `load` of a layout. */
export async function signedIn({ parent, url }: { parent: () => Promise<unknown>; url: URL }): Promise<void> {
  await parent();
  if (session.me || (await session.load())) return;
  const next = encodeURIComponent(url.pathname + url.search);
  redirect(307, resolve(`sign-in?next=${next}`));
}
