/** What the user has typed and not saved. It outlives a reload, a lost session and a failure. */

const PREFIX = "heddle.draft.";

/** Return the values of a form as state: those of the draft, or the first ones without one.
 *
 * Drafts live in the tab. `discard` ends one, after the server has stored it.
 */
export class Draft<T extends Record<string, unknown>> {
  values: T = $state()!;
  readonly #name: string;
  readonly #first: T;

  constructor(name: string, first: T) {
    this.#name = PREFIX + name;
    this.#first = first;
    this.values = { ...first, ...this.#stored() };
    $effect(() => {
      const text = JSON.stringify(this.values);
      if (text === JSON.stringify(this.#first)) sessionStorage.removeItem(this.#name);
      else sessionStorage.setItem(this.#name, text);
    });
  }

  /** Whether something was typed. */
  get changed(): boolean {
    return JSON.stringify(this.values) !== JSON.stringify(this.#first);
  }

  discard(): void {
    this.values = { ...this.#first };
    sessionStorage.removeItem(this.#name);
  }

  #stored(): Partial<T> {
    try {
      return JSON.parse(sessionStorage.getItem(this.#name) ?? "{}") as Partial<T>;
    } catch {
      return {};
    }
  }
}
