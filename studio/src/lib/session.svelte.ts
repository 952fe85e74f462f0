/** Who uses the studio, and what they may do. */

import { credentials } from "./api/client.ts";
import { ApiError } from "./api/errors.ts";
import { type Me, post, readMe } from "./api/me.ts";
import { queries } from "./api/queries.ts";

const KEY = "heddle.key";

class Session {
  /** The user; null before the first answer and for anonymous visitors. */
  me = $state.raw<Me | null>(null);
  /** Whether the server stopped accepting the credentials while the user worked. */
  lost = $state(false);

  constructor() {
    // A pasted key lives as long as its tab, so that a reload does not end the work.
    credentials.key = sessionStorage.getItem(KEY) ?? "";
    credentials.onRejected = () => {
      if (this.me !== null) this.lost = true;
    };
  }

  may(right: string): boolean {
    return this.me?.rights.includes(right) ?? false;
  }

  /** Ask the server who the user is, and return whether they are signed in. */
  async load(): Promise<boolean> {
    try {
      this.#enter(await readMe());
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 401)) throw error;
      this.#forget();
    }
    return this.me !== null;
  }

  async signIn(email: string, password: string, organization: string): Promise<void> {
    const body = { email, password, ...(organization && { organization }) };
    await post("/login", body);
    await this.load();
  }

  /** Use an API key from now on.
   *
   * Throws ApiError: The key is not valid.
   */
  async useKey(key: string): Promise<void> {
    const before = credentials.key;
    credentials.key = key;
    try {
      this.#enter(await readMe());
    } catch (error) {
      credentials.key = before;
      throw error;
    }
    sessionStorage.setItem(KEY, key);
  }

  async signOut(everywhere: boolean): Promise<void> {
    if (this.me?.authentication === "session") await post("/logout", { everywhere });
    this.#forget();
    sessionStorage.clear(); // drafts may be the next user's otherwise
    queries.clear();
  }

  #enter(me: Me): void {
    const other = this.me !== null && this.me.email !== me.email;
    this.me = me;
    this.lost = false;
    credentials.csrfToken = me.csrf_token ?? "";
    // Answers to another user, or to nobody, say nothing now.
    if (other) queries.clear();
    else void queries.invalidateQueries();
  }

  #forget(): void {
    this.me = null;
    this.lost = false;
    credentials.key = "";
    credentials.csrfToken = "";
    sessionStorage.removeItem(KEY);
  }
}

export const session = new Session();
