/** Pages of documents. */

import { send } from "#lib/api/client.ts";

/** Return the picture of a page. */
export async function pagePicture(
  id: string,
  document: string,
  page: number,
  signal: AbortSignal,
): Promise<Blob> {
  const path = `/v1/vector_stores/${encodeURIComponent(id)}/files/${encodeURIComponent(document)}/pages/${page}`;
  return (await send(new Request(path, { credentials: "same-origin", signal }))).blob();
}

/** Return the parts of a text before, in and after a passage; null if the text does not have it.
 *
 * White space may differ.
 */
export function located(text: string, passage: string): [string, string, string] | null {
  const words = passage.trim().split(/\s+/).filter(Boolean);
  if (words.length === 0) return null;
  const pattern = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("\\s+");
  const match = new RegExp(pattern, "u").exec(text);
  if (match === null) return null;
  const end = match.index + match[0].length;
  return [text.slice(0, match.index), match[0], text.slice(end)];
}
