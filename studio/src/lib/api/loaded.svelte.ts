/** An answer of the server for one component. The first screen and the editor use it, because the
 * cache of answers is a large part of what a screen loads. */

import { ApiError } from "./errors.ts";

const MAX_RETRIES = 2;
const PAUSE_MILLISECONDS = 1000;

class Loaded<T> {
  data: T | undefined = $state.raw();
  error: unknown = $state.raw(null);
  isPending = $derived(this.data === undefined && this.error === null);
  isError = $derived(this.error !== null);
  attempt = $state(0);

  refetch(): void {
    this.error = null;
    this.attempt += 1;
  }
}

/** Load something now, and again when what `load` reads changes. Called when a component starts. */
export function loaded<T>(load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const state = new Loaded<T>();
  $effect(() => {
    void state.attempt;
    const controller = new AbortController();
    const { signal } = controller;
    // The first call is made here, so that the effect knows what it reads.
    void settle(load(signal), () => load(signal), signal, state);
    return () => controller.abort();
  });
  return state;
}

async function settle<T>(
  first: Promise<T>,
  again: () => Promise<T>,
  signal: AbortSignal,
  state: Loaded<T>,
): Promise<void> {
  for (let count = 0; ; count += 1) {
    try {
      const data = await (count === 0 ? first : again());
      if (!signal.aborted) [state.data, state.error] = [data, null];
      return;
    } catch (error) {
      if (signal.aborted) return;
      if (count === MAX_RETRIES || !(error instanceof ApiError && error.temporary)) {
        state.error = error;
        return;
      }
    }
    await new Promise((done) => setTimeout(done, PAUSE_MILLISECONDS));
  }
}
