import { speakOf } from "#lib/i18n/index.svelte.ts";
import { partsOf } from "#lib/i18n/parts.ts";
import { preferences } from "#lib/preferences.svelte.ts";

export const ssr = false;

let started: Promise<void> | undefined;

/** Show each screen in the user's language. */
export const load = async ({ route }): Promise<void> => {
  await (started ??= preferences.start());
  await speakOf(partsOf(route.id));
};
