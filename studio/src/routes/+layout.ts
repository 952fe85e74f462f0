import { preferences } from "#lib/preferences.svelte.ts";

export const ssr = false;

export const load = (): Promise<void> => preferences.start();
