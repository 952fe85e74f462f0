/** The calls of the screens about collections. */

import { api, data } from "#lib/api/client.ts";
import type { components, paths } from "#lib/api/schema.d.ts";
import { number } from "#lib/i18n/index.svelte.ts";
import { discardUploads } from "#lib/upload/uploads.svelte.ts";

export type Collection = components["schemas"]["VectorStore"];
export type CollectionFile = components["schemas"]["VectorStoreFile"];
export type Sharing = Collection["sharing"];
export type Server = components["schemas"]["SearchServer"];
export type Place = Required<components["schemas"]["Place"]>;
export type Result = components["schemas"]["ExplainedResult"];
export type ListQuery = NonNullable<paths["/v1/vector_stores"]["get"]["parameters"]["query"]>;
export type FileQuery = NonNullable<paths["/v1/vector_stores/{id}/files"]["get"]["parameters"]["query"]>;

/** Return the place of a collection in Heddle. */
export const emptyPlace = (): Place => ({
  server: "",
  collection: "",
  text: "",
  title: "",
  uri: "",
  page: "",
  vector: "",
  tenant: "",
  database: "",
});

const UNITS = ["byte", "kilobyte", "megabyte", "gigabyte"] as const;

/** Return a number of bytes for people. */
export function bytes(count: number): string {
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(1, count)) / 3));
  const unit = UNITS[power]!;
  // The short form of bytes has no plural.
  const unitDisplay = unit === "byte" ? "long" : "short";
  const options = { style: "unit", unit, unitDisplay, maximumFractionDigits: 1 } as const;
  return number(count / 1_000 ** power, options);
}

const MAX_BATCH = 2_000;
const PAGE = 100;
/** So many assistants are looked at, with a request for each. */
const MAX_COMPARED = 50;

export const shareWith = (id: string, sharing: Sharing): Promise<unknown> =>
  data(api.POST("/v1/vector_stores/{id}", { params: { path: { id } }, body: { sharing } }));

/** Return the titles of assistants of the user's that answer from a collection. */
export async function usersOf(id: string): Promise<string[]> {
  const query = { selection: "managed", page_size: MAX_COMPARED } as const;
  const { assistants } = await data(api.GET("/assistants", { params: { query } }));
  const titles = assistants.map(async (each) => {
    const { data: stored } = await api.GET("/assistants/{id}", { params: { path: { id: each.id } } });
    return JSON.stringify(stored ?? "").includes(`"${id}"`) ? each.title || each.name : "";
  });
  return (await Promise.all(titles)).filter(Boolean);
}

export async function remove(id: string): Promise<void> {
  await data(api.DELETE("/v1/vector_stores/{id}", { params: { path: { id } } }));
  discardUploads(id);
}

export const removeFile = (id: string, file: string): Promise<unknown> =>
  data(
    api.DELETE("/v1/vector_stores/{id}/files/{file}", {
      params: { path: { id, file }, query: { delete_file: true } },
    }),
  );

/** Read a file again. */
export const retryFile = (id: string, { id: file_id, attributes }: CollectionFile): Promise<unknown> =>
  data(
    api.POST("/v1/vector_stores/{id}/files", {
      params: { path: { id } },
      body: { file_id, attributes } as never,
    }),
  );

/** Read all files again that have failed. */
export async function retryFailed(id: string): Promise<void> {
  const failed: CollectionFile[] = [];
  for (let after = "", more = true; more && failed.length < MAX_BATCH;) {
    const query: FileQuery = { filter: "failed", limit: PAGE, after };
    const page = await data(api.GET("/v1/vector_stores/{id}/files", { params: { path: { id }, query } }));
    failed.push(...page.data);
    after = page.last_id ?? "";
    more = page.has_more;
  }
  if (failed.length === 0) return;
  const files = failed.map(({ id: file_id, attributes }) => ({ file_id, attributes }));
  const body = { files } as never;
  await data(api.POST("/v1/vector_stores/{id}/file_batches", { params: { path: { id } }, body }));
}
