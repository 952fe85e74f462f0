/** The lists from which pickers choose, page by page from the server. */

import { api, data } from "#lib/api/client.ts";

export interface Choice {
  id: string;
  title: string;
  /** What the server accepts in place of the identifier. */
  alias?: string;
  /** The collection whose page has the documents. */
  documents?: string;
}
export interface ChoicePage {
  choices: readonly Choice[];
  /** Empty on the last page. */
  next: string;
}
const PAGE_SIZE = 100;

export async function fetchChoices(input: string, from: string, signal: AbortSignal): Promise<ChoicePage> {
  if (input === "rubric") {
    const query = { page_size: PAGE_SIZE, page_token: from };
    const page = await data(api.GET("/rubrics", { params: { query }, signal }));
    return { choices: page.rubrics.map(({ id, title }) => ({ id, title })), next: page.next_page_token };
  }
  if (input === "model") {
    const { connectors } = await data(api.GET("/connectors", { signal }));
    const models = connectors.flatMap((each) => each.models);
    return { choices: [...new Map(models.map(({ id, title }) => [id, { id, title }])).values()], next: "" };
  }
  if (input === "file") {
    const query = { limit: PAGE_SIZE, after: from || undefined };
    const page = await data(api.GET("/v1/files", { params: { query }, signal }));
    const choices = page.data.map(({ id, filename }) => ({ id, title: filename }));
    return { choices, next: page.has_more ? (choices.at(-1)?.id ?? "") : "" };
  }
  const query = { limit: PAGE_SIZE, after: from };
  const page = await data(api.GET("/v1/vector_stores", { params: { query }, signal }));
  const choices = page.data.map(({ id, name, collection: alias }) => ({
    id,
    title: name || id,
    alias,
    documents: id,
  }));
  return { choices, next: page.has_more ? (choices.at(-1)?.id ?? "") : "" };
}
