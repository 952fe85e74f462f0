/** The only way to the server: typed calls of the routes in `/openapi.json`. */

import type { Client } from "openapi-fetch";

import { ApiError, errorOf, UNREACHABLE } from "./errors.ts";
import type { paths } from "./schema.d.ts";

const SAFE = new Set(["GET", "HEAD", "OPTIONS"]);

/** What a request needs beside its route; the session fills it in. */
export const credentials = {
  /** An API key that the user pasted. */
  key: "",
  /** The token that requests of a session cookie carry if they change something. */
  csrfToken: "",
  /** Called when the server does not accept the credentials any more. */
  onRejected: () => {},
};

/** Send a request, and return its response if it succeeded.
 *
 * Throws ApiError: The request failed, or no response came.
 */
export async function send(request: Request): Promise<Response> {
  if (credentials.key) request.headers.set("authorization", `Bearer ${credentials.key}`);
  else if (credentials.csrfToken && !SAFE.has(request.method))
    request.headers.set("x-csrf-token", credentials.csrfToken);
  let response: Response;
  try {
    response = await fetch(request);
  } catch (error) {
    if (request.signal.aborted) throw error;
    throw new ApiError("", UNREACHABLE);
  }
  if (response.ok || response.status === 304) return response;
  if (response.status === 401) credentials.onRejected();
  throw await errorOf(response);
}

interface Call {
  params?: {
    path?: Record<string, string | number>;
    query?: Record<string, unknown>;
    header?: Record<string, string>;
  };
  /** Headers that the contract does not name for the route, such as `If-Match`. */
  headers?: Record<string, string>;
  body?: unknown;
  signal?: AbortSignal;
  parseAs?: "json" | "blob";
}

/** Return a function that calls routes with a method. Its types are those of `openapi-fetch`, whose code is
 * larger than all that the first screen has of its own.
 */
const calling =
  (method: string) =>
  async (route: string, call: Call = {}): Promise<{ data?: unknown; response: Response }> => {
    const { path = {}, query = {}, header = {} } = call.params ?? {};
    const url = new URL(
      route.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name]!)),
      location.origin,
    );
    for (const [name, value] of Object.entries(query))
      for (const each of [value ?? []].flat()) url.searchParams.append(name, String(each));
    const headers = new Headers({ accept: "application/json", ...header, ...call.headers });
    if (call.body !== undefined) headers.set("content-type", "application/json");
    const body = call.body === undefined ? null : JSON.stringify(call.body);
    const response = await send(new Request(url, { method, headers, body, signal: call.signal ?? null }));
    if (call.parseAs === "blob") return { data: await response.blob(), response };
    const text = await response.text();
    return text ? { data: JSON.parse(text), response } : { response };
  };

export const api = {
  GET: calling("GET"),
  POST: calling("POST"),
  PUT: calling("PUT"),
  PATCH: calling("PATCH"),
  DELETE: calling("DELETE"),
} as unknown as Client<paths>;

/** Return the content of a response; calls look like `data(api.GET("/assistants"))`. */
export async function data<T>(call: Promise<{ data?: T }>): Promise<T> {
  return (await call).data as T;
}

/** Return the content of a response and its ETag, which a later change sends as `If-Match`. */
export async function versioned<T>(
  call: Promise<{ data?: T; response: Response }>,
): Promise<{ content: T; etag: string }> {
  const { data: content, response } = await call;
  return { content: content as T, etag: response.headers.get("etag") ?? "" };
}
