/** Uploads one file. `fetch` does not tell how much of a body is sent; `XMLHttpRequest` does. */

import { credentials } from "#lib/api/client.ts";
import { ApiError, errorOf, UNREACHABLE } from "#lib/api/errors.ts";
import type { components } from "#lib/api/schema.d.ts";

export type StoredFile = components["schemas"]["File"];

interface Sending {
  file: File;
  /** The same key with the same content is stored once, however often it is sent. */
  key: string;
  onProgress: (bytes: number) => void;
  signal: AbortSignal;
}

/** Store a file of the user's.
 *
 * Throws ApiError: It was refused, or the connection broke.
 */
export function sendFile({ file, key, onProgress, signal }: Sending): Promise<StoredFile> {
  const form = new FormData();
  form.append("purpose", "assistants");
  form.append("upload_key", key);
  form.append("file", file, file.name);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", "/v1/files");
    request.setRequestHeader("accept", "application/json");
    if (credentials.key) request.setRequestHeader("authorization", `Bearer ${credentials.key}`);
    else if (credentials.csrfToken) request.setRequestHeader("x-csrf-token", credentials.csrfToken);
    const stop = (): void => request.abort();
    request.upload.onprogress = ({ loaded }) => onProgress(Math.min(loaded, file.size));
    request.onload = () => {
      if (request.status === 200) resolve(JSON.parse(request.responseText) as StoredFile);
      else void failure(request).then(reject);
    };
    request.onerror = () => reject(new ApiError("", UNREACHABLE));
    request.onabort = () => reject(new DOMException("The upload was stopped.", "AbortError"));
    request.onloadend = () => signal.removeEventListener("abort", stop);
    signal.addEventListener("abort", stop);
    request.send(form);
  });
}

function failure(request: XMLHttpRequest): Promise<ApiError> {
  if (request.status === 401) credentials.onRejected();
  const headers = new Headers();
  for (const name of ["x-request-id", "retry-after"]) {
    const value = request.getResponseHeader(name);
    if (value) headers.set(name, value);
  }
  const { status, statusText } = request;
  return errorOf(new Response(request.responseText, { status, statusText, headers }));
}
