/** The conversations of the user, newest first, as far as they were asked for. */

import { onChange } from "#lib/api/changed.ts";
import { listConversations, type StoredConversation } from "./api.ts";

class History {
  list: readonly StoredConversation[] = $state.raw([]);
  /** What is searched for. */
  text = $state("");
  archived = $state(false);
  error: unknown = $state.raw(null);
  pending = $state(true);
  next = $state("");
  #abort = new AbortController();

  constructor() {
    onChange((change) => {
      if (change === "nobody" || change === "other-user") this.list = [];
    });
  }

  /** Read the list from its beginning. */
  refresh(): void {
    void this.#read("");
  }

  async more(): Promise<void> {
    if (this.next) await this.#read(this.next);
  }

  async #read(page_token: string): Promise<void> {
    this.#abort.abort();
    const { signal } = (this.#abort = new AbortController());
    const { text, archived } = this;
    try {
      const page = await listConversations({ text, archived, page_token }, signal);
      this.list = page_token ? [...this.list, ...page.data] : page.data;
      [this.next, this.error, this.pending] = [page.next_page_token, null, false];
    } catch (error) {
      if (!signal.aborted) [this.error, this.pending] = [error, false];
    }
  }
}

export const history = new History();
