/** Uploads one file. */

import type { components } from "#lib/api/schema.d.ts";
import { upload } from "#lib/api/upload.ts";

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
  return upload("/v1/files", form, (part) => onProgress(part * file.size), signal);
}
