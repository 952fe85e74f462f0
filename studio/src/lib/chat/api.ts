/** The calls of the chat. */

import { api, data, send } from "#lib/api/client.ts";
import type { components } from "#lib/api/schema.d.ts";
import type { Feedback, Item } from "./items.ts";
import type { ResponseView } from "./reply.ts";

export type StoredConversation = components["schemas"]["StoredConversation"];
export type Assistant = components["schemas"]["AssistantSummary"];
/** Members of a conversation that its owner changes. */
export type Change = Partial<Pick<StoredConversation, "title" | "pinned" | "archived">>;

export const MODEL_PREFIX = "lamb_assistant.";
const ITEMS_PAGE = 100;
const LIST_PAGE = 40;
/** What searches found is stored with the answer. */
const INCLUDE = ["file_search_call.results", "web_search_call.action.sources"];

export const fetchAssistants = (signal: AbortSignal, page_token = "") =>
  data(api.GET("/assistants", { params: { query: { selection: "usable", page_token } }, signal }));

export const fetchAssistant = async (id: string, signal: AbortSignal): Promise<Assistant> =>
  (await data(api.GET("/assistants/{id}", { params: { path: { id } }, signal }))) as Assistant;

export const listConversations = (
  query: { text?: string; archived?: boolean; page_token?: string },
  signal?: AbortSignal,
) =>
  data(
    api.GET("/v1/conversations", {
      params: { query: { page_size: LIST_PAGE, ...query } },
      ...(signal && { signal }),
    }),
  );

export const fetchConversation = (id: string, signal?: AbortSignal): Promise<StoredConversation> =>
  data(api.GET("/v1/conversations/{id}", { params: { path: { id } }, ...(signal && { signal }) }));

export const newConversation = async (): Promise<StoredConversation> =>
  (await data(api.POST("/v1/conversations", { body: {} }))) as StoredConversation;

export const changeConversation = (id: string, body: Change): Promise<StoredConversation> =>
  data(api.POST("/v1/conversations/{id}", { params: { path: { id } }, body }));

export const deleteConversation = async (id: string): Promise<void> => {
  await api.DELETE("/v1/conversations/{id}", { params: { path: { id } } });
};

export const rate = async (conversation: string, id: string, body: Feedback): Promise<void> => {
  await api.PUT("/v1/conversations/{conversation}/items/{id}/feedback", {
    params: { path: { conversation, id } },
    body,
  });
};

/** Yield the items of a conversation in pages: the newest first, or in their order those after one. */
export async function* itemPages(
  id: string,
  order: "asc" | "desc",
  after = "",
  signal?: AbortSignal,
): AsyncGenerator<Item[]> {
  for (let last = after, more = true; more;) {
    const query = { limit: ITEMS_PAGE, order, after: last };
    const page = await data(
      api.GET("/v1/conversations/{id}/items", {
        params: { path: { id }, query },
        ...(signal && { signal }),
      }),
    );
    yield page.data as unknown as Item[];
    last = page.last_id ?? "";
    more = page.has_more;
  }
}

export const fetchResponse = async (id: string): Promise<ResponseView> =>
  (await data(api.GET("/v1/responses/{id}", { params: { path: { id } } }))) as unknown as ResponseView;

export const cancelResponse = async (id: string): Promise<void> => {
  await api.POST("/v1/responses/{id}/cancel", { params: { path: { id } } });
};

/** Begin a response, and return its events. */
export const startResponse = (body: object, signal: AbortSignal): Promise<Response> =>
  send(
    streamRequest("/v1/responses", signal, {
      method: "POST",
      body: JSON.stringify({ ...body, stream: true, include: INCLUDE }),
      headers: { "content-type": "application/json", accept: "text/event-stream" },
    }),
  );

/** Return the events of a response after the one of a number. */
export const followResponse = (id: string, after: number, signal: AbortSignal): Promise<Response> =>
  send(
    streamRequest(`/v1/responses/${encodeURIComponent(id)}?stream=true&starting_after=${after}`, signal, {}),
  );

const streamRequest = (path: string, signal: AbortSignal, init: RequestInit): Request =>
  new Request(path, { credentials: "same-origin", signal, ...init });
