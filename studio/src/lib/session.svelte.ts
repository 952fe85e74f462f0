/** Who uses the studio, and what they may do. */

import { redirect } from "@sveltejs/kit";
import { resolve } from "$app/paths";

import { api, credentials, data } from "./api/client.ts";
import { ApiError } from "./api/errors.ts";
import { changed, userChanged } from "./api/changed.ts";
import type { components } from "./api/schema.d.ts";
import { tabStorage } from "./storage.ts";

type Me = components["schemas"]["Me"];
export type Right = Me["rights"][number];

const KEY = "heddle.key";

class Session {
  /** The user; null before the first answer and for anonymous visitors. */
  me = $state.raw<Me | null>(null);
  /** Whether the server stopped accepting the credentials while the user worked. */
  lost = $state(false);

  constructor() {
    // A pasted key lives as long as its tab, so that a reload does not end the work.
    credentials.key = tabStorage.getItem(KEY) ?? "";
    credentials.onRejected = () => {
      if (this.me !== null) this.lost = true;
    };
  }

  may(right: Right): boolean {
    return this.me?.rights.includes(right) ?? false;
  }

  /** Whether the user only uses assistants of others. */
  get learns(): boolean {
    return this.me !== null && !this.me.rights.some((right) => right !== "use_assistants");
  }

  /** Return whether the gateway has the routes of a package. */
  offers(extension: string): boolean {
    return this.me?.features.extensions.includes(extension) ?? false;
  }

  /** Ask the server who the user is, and return whether they are signed in. */
  async load(): Promise<boolean> {
    try {
      this.#enter(await data(api.GET("/v1/me")));
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 401)) throw error;
      this.#forget();
    }
    return this.me !== null;
  }

  async signIn(email: string, password: string): Promise<void> {
    this.#enter(await data(api.POST("/login", { body: { email, password } })));
  }

  /** Set another password of the user. Sessions elsewhere end; this one goes on with a new token. */
  async changePassword(current_password: string, password: string): Promise<void> {
    this.#enter(await data(api.PUT("/v1/me/password", { body: { current_password, password } })));
  }

  /** Make the account of the first operator, and sign in with it. */
  async setUp(body: components["schemas"]["FirstOperator"]): Promise<void> {
    this.#enter(await data(api.POST("/login/operator", { body })));
  }

  /** Act in another organisation of the user. All screens show what is there. */
  async switchTo(organization: string): Promise<void> {
    this.#enter(await data(api.POST("/login/organization", { body: { organization } })));
  }

  /** Use an API key from now on.
   *
   * Throws ApiError: The key is not valid.
   */
  async useKey(key: string): Promise<void> {
    const before = credentials.key;
    credentials.key = key;
    try {
      this.#enter(await data(api.GET("/v1/me")));
    } catch (error) {
      credentials.key = before;
      throw error;
    }
    tabStorage.setItem(KEY, key);
  }

  async signOut(everywhere: boolean): Promise<void> {
    if (this.me?.authentication === "session") await data(api.POST("/logout", { body: { everywhere } }));
    this.#forget();
    tabStorage.clear(); // drafts may be the next user's otherwise
    userChanged("nobody");
  }

  #enter(me: Me): void {
    const other =
      this.me !== null && (this.me.subject !== me.subject || this.me.organization !== me.organization);
    this.me = me;
    this.lost = false;
    credentials.csrfToken = me.csrf_token ?? "";
    // What another user may see is not shown for a moment either.
    if (other) userChanged("other-user");
    else changed();
  }

  #forget(): void {
    this.me = null;
    this.lost = false;
    credentials.key = "";
    credentials.csrfToken = "";
    tabStorage.removeItem(KEY);
  }
}

export const session = new Session();

interface Loading {
  parent: () => Promise<unknown>;
  url: URL;
  route: { id: string | null };
}

/** Show a screen to users who are signed in, and the way to sign in to others: the `load` of a layout.
 *
 * Learners begin with the chat.
 */
export async function signedIn({ parent, url, route }: Loading): Promise<void> {
  await parent();
  if (!session.me && !(await session.load())) {
    const next = encodeURIComponent(url.pathname + url.search);
    redirect(307, resolve(`sign-in?next=${next}`));
  }
  if (session.learns && route.id === "/(app)") redirect(307, resolve("chat"));
}
