/** The calls of the list of assistants. */

import { api, data } from "#lib/api/client.ts";
import type { components, paths } from "#lib/api/schema.d.ts";
import { download } from "#lib/download.ts";
import type { Stored } from "#lib/new-assistant.ts";

export type Summary = components["schemas"]["AssistantSummary"];
export type { Stored };
export type Query = NonNullable<paths["/assistants"]["get"]["parameters"]["query"]>;

const file = async (id: string): Promise<object> =>
  data(api.GET("/assistants/{id}/export", { params: { path: { id } } }));

export async function save(id: string, name: string): Promise<void> {
  const text = JSON.stringify(await file(id), null, 2);
  download(new Blob([text], { type: "application/json" }), `${name}.json`);
}

export const load = (name: string, content: object): Promise<Stored> =>
  data(api.POST("/assistants/import", { params: { query: { name } }, body: content as never }));

export const clone = async (id: string, name: string): Promise<Stored> => load(name, await file(id));

export const remove = (id: string): Promise<unknown> =>
  data(api.DELETE("/assistants/{id}", { params: { path: { id } } }));
