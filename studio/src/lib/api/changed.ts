/** Tells who keeps answers of the server that they may be old.
 *
 * The cache of answers is not loaded for the first screen and the editor; this is.
 */

type Listener = (change: Change) => void;
/** `other-user` and `nobody`: nothing of what is known may be shown any more. */
type Change = { key?: readonly unknown[] } | "other-user" | "nobody";

const listeners = new Set<Listener>();

export const onChange = (listener: Listener): void => void listeners.add(listener);

/** Tell that answers are old: those whose key begins so, or all. */
export function changed(key?: readonly unknown[]): void {
  for (const listener of listeners) listener(key ? { key } : {});
}

/** Tell that another user, or nobody, is signed in now. */
export function userChanged(to: "other-user" | "nobody"): void {
  for (const listener of listeners) listener(to);
}
