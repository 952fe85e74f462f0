/** Pages of documents. */

import { api, data, send } from "#lib/api/client.ts";

/** Return the query of one page of a file. */
export const pageQuery = (id: string, file: string, first: number) => ({
  queryKey: ["collection", id, "file", file, "page", first],
  queryFn: ({ signal }: { signal: AbortSignal }) => {
    const params = { path: { id, file }, query: { first, page_size: 1 } };
    return data(api.GET("/v1/vector_stores/{id}/files/{file}/pages", { params, signal }));
  },
});

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
