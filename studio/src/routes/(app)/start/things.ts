/** What the first assistant is made of: each is found again after an interruption, before another
 * one is made. */

import { api, data } from "#lib/api/client.ts";
import { ApiError } from "#lib/api/errors.ts";
import type { components } from "#lib/api/schema.d.ts";
import { upload } from "#lib/api/upload.ts";
import { answeringFrom, createUnder, MARK as OF_ASSISTANT } from "#lib/new-assistant.ts";

type StoredFile = components["schemas"]["File"];
type Attached = components["schemas"]["VectorStoreFile"];

/** The metadata by which a collection is found again. */
const MARK = "studio_start";
const MAX_STORES = 100;
const MAX_FILES = 50;
const MAX_LISTED = 50;

export interface Wish {
  title: string;
  connector: string;
  model: string;
  language: string;
  systemPrompt: string;
  /** With `{context}` where the passages go. */
  template: string;
}

/** Return the id of the newest file; files that come later were uploaded after it. */
export async function newestFile(): Promise<string> {
  const { data: files } = await data(api.GET("/v1/files", { params: { query: { limit: 1 } } }));
  return files[0]?.id ?? "";
}

/** Return a file that was uploaded after another one. */
export async function findFile(name: string, size: number, after: string): Promise<string> {
  const query = { limit: MAX_FILES };
  const { data: files } = await data(api.GET("/v1/files", { params: { query } }));
  const end = files.findIndex((each) => each.id === after);
  const later = end < 0 ? files : files.slice(0, end);
  return later.find((each) => each.filename === name && each.bytes === size)?.id ?? "";
}

export async function uploadFile(file: File, progress: (part: number) => void): Promise<string> {
  const form = new FormData();
  form.append("purpose", "assistants");
  form.append("file", file, file.name);
  return (await upload<StoredFile>("/v1/files", form, progress)).id;
}

/** Return the collection with a mark. */
export async function findStore(mark: string): Promise<string> {
  const query = { limit: MAX_STORES };
  const { data: stores } = await data(api.GET("/v1/vector_stores", { params: { query } }));
  return stores.find((each) => each.metadata[MARK] === mark)?.id ?? "";
}

/** Make a collection, whose search knows the language if the server supports it. */
export async function makeStore(name: string, language: string, mark: string): Promise<string> {
  const body = { name, metadata: { [MARK]: mark } };
  const make = async (more: { language?: string }): Promise<string> =>
    (await data(api.POST("/v1/vector_stores", { body: { ...body, ...more } }))).id;
  try {
    return await make({ language });
  } catch (error) {
    if (!(error instanceof ApiError) || !error.violations.some((each) => /language$/.test(each.field)))
      throw error;
    return make({});
  }
}

/** Return the state of a file in a collection; null if it is not there yet. */
export async function attached(store: string, file: string): Promise<Attached | null> {
  const path = { id: store, file };
  try {
    return await data(api.GET("/v1/vector_stores/{id}/files/{file}", { params: { path } }));
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

export const attach = (store: string, file: string): Promise<Attached> =>
  data(
    api.POST("/v1/vector_stores/{id}/files", {
      params: { path: { id: store } },
      body: { file_id: file },
    }),
  );

/** Return the user's assistant that searches a collection. */
export async function findAssistant(name: string, store: string): Promise<string> {
  const query = { selection: "own" as const, text: name, page_size: MAX_LISTED };
  const { assistants } = await data(api.GET("/assistants", { params: { query } }));
  for (const { id } of assistants.toReversed()) {
    const content = await data(api.GET("/assistants/{id}", { params: { path: { id } } }));
    if (JSON.stringify(content).includes(store)) return id;
  }
  return "";
}

/** Make an assistant that answers from a collection, under the first name that is free. */
export const makeAssistant = async (name: string, store: string, wish: Wish): Promise<string> => {
  const { title, connector, model, systemPrompt, template } = wish;
  const members = {
    title,
    model: { connector, model },
    system_prompt: systemPrompt,
    ...answeringFrom([store], template),
  };
  return (await createUnder(name, members)).id;
};

/** Make a collection the one of an assistant's documents. */
export async function adopt(store: string, mark: string, assistant: string): Promise<void> {
  const body = { metadata: { [MARK]: mark, [OF_ASSISTANT]: assistant } };
  await data(api.POST("/v1/vector_stores/{id}", { params: { path: { id: store } }, body }));
}

/** Delete what was made before the user gave up. */
export async function discard(store: string, file: string): Promise<void> {
  const params = (id: string) => ({ params: { path: { id } } });
  const deletions: Promise<unknown>[] = [];
  if (store) deletions.push(api.DELETE("/v1/vector_stores/{id}", params(store)));
  if (file) deletions.push(api.DELETE("/v1/files/{id}", params(file)));
  await Promise.all(
    deletions.map((each) =>
      each.catch((error: unknown) => {
        if (!(error instanceof ApiError && error.status === 404)) throw error;
      }),
    ),
  );
}

/** Return a title for the assistant of a file. */
export const titleOf = (file: string): string =>
  file
    .replace(/\.[^.]+$/, "")
    .replace(/[_\s]+/g, " ")
    .trim() || file;
