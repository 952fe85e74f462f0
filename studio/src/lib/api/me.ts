/** The routes of signing in. */

import { send } from "./client.ts";
import { ApiError } from "./errors.ts";

export interface Me {
  email: string;
  organization: string;
  organizations: { slug: string; role: string }[];
  role: string;
  rights: string[];
  authentication: "session" | "key" | "development";
  expires_at: number | null;
  csrf_token: string | null;
}

/** The ways of signing in that the server offers. */
export interface LoginMethods {
  password: boolean;
  oidc: { id: string; title: string }[];
  lamb: boolean;
}

const DEVELOPER: Me = {
  email: "developer",
  organization: "",
  organizations: [],
  role: "admin",
  rights: ["admin"],
  authentication: "development",
  expires_at: null,
  csrf_token: null,
};

export async function readMe(): Promise<Me> {
  try {
    return (await (await send(new Request("/v1/me"))).json()) as Me;
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 404)) throw error;
    await send(new Request("/assistants?page_size=1"));
    return DEVELOPER;
  }
}

export async function readLoginMethods(): Promise<LoginMethods> {
  try {
    return (await (await send(new Request("/login"))).json()) as LoginMethods;
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 404)) throw error;
    return { password: false, oidc: [], lamb: false };
  }
}

export async function post(path: string, body: object): Promise<void> {
  const headers = { "content-type": "application/json" };
  await send(new Request(path, { method: "POST", headers, body: JSON.stringify(body) }));
}
