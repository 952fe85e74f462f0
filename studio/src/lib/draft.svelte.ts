/** What the user has typed and not saved. It outlives a reload, a lost session and a failure. */

import { tabStorage } from "./storage.ts";

const PREFIX = "heddle.draft.";

/** Return the draft with a name, null if there is none. */
export function readDraft<T>(name: string): T | null {
  try {
    return JSON.parse(tabStorage.getItem(PREFIX + name) ?? "null") as T | null;
  } catch {
    return null;
  }
}

/** Store a draft; null deletes it. */
export function writeDraft(name: string, draft: object | string | null): void {
  if (draft === null) tabStorage.removeItem(PREFIX + name);
  else tabStorage.setItem(PREFIX + name, JSON.stringify(draft));
}

/** Return the values of a form as state: those of the draft, or the first ones without one.
 *
 * Drafts live in the tab. `discard` ends one, after the server has stored it.
 */
export class Draft<T extends Record<string, unknown>> {
  values: T = $state()!;
  readonly #name: string;
  #first: T;

  constructor(name: string, first: T) {
    this.#name = name;
    this.#first = first;
    this.values = { ...first, ...readDraft<Partial<T>>(name) };
    $effect(() => writeDraft(name, this.changed ? this.values : null));
  }

  /** Whether something was typed. */
  get changed(): boolean {
    return JSON.stringify(this.values) !== JSON.stringify(this.#first);
  }

  /** Go on from what the server has stored. */
  settle(stored: T): void {
    this.#first = stored;
    this.discard();
  }

  discard(): void {
    this.values = { ...this.#first };
    writeDraft(this.#name, null);
  }
}
