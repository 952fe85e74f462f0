/** Uploads with their progress, of which `fetch` tells nothing. */

import { credentials } from "./client.ts";
import { ApiError, errorOf, UNREACHABLE } from "./errors.ts";

/** Send a form with files, and return the JSON of the response.
 *
 * `progress` is called with the part that is sent, from 0 to 1.
 * Throws ApiError: The request failed, or no response came.
 */
export function upload<T>(
  path: string,
  form: FormData,
  progress: (part: number) => void,
  signal?: AbortSignal,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const stop = (): void => request.abort();
    request.open("POST", path);
    request.setRequestHeader("accept", "application/json");
    if (credentials.key) request.setRequestHeader("authorization", `Bearer ${credentials.key}`);
    else if (credentials.csrfToken) request.setRequestHeader("x-csrf-token", credentials.csrfToken);
    request.upload.onprogress = ({ loaded, total }) => progress(total > 0 ? loaded / total : 0);
    request.onerror = () => reject(new ApiError("", UNREACHABLE));
    request.onabort = () => reject(new DOMException("The upload was aborted.", "AbortError"));
    request.onload = () => {
      if (request.status === 401) credentials.onRejected();
      const response = responseOf(request);
      if (response.ok) response.json().then(resolve as (content: unknown) => void, reject);
      else errorOf(response).then(reject);
    };
    request.onloadend = () => signal?.removeEventListener("abort", stop);
    signal?.addEventListener("abort", stop);
    request.send(form);
  });
}

function responseOf(request: XMLHttpRequest): Response {
  const headers = new Headers();
  for (const name of ["x-request-id", "retry-after"]) {
    const value = request.getResponseHeader(name);
    if (value !== null) headers.set(name, value);
  }
  const { status, statusText } = request;
  return new Response(request.responseText, { status, statusText, headers });
}
