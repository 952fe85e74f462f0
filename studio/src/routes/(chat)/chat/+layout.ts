import { signedIn } from "#lib/session.svelte.ts";

export const load = signedIn;
