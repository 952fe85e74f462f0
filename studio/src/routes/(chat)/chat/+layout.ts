import { signedIn } from "#lib/signed-in.ts";

export const load = signedIn;
