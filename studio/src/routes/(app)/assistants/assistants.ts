/** The calls of the list of assistants. */

import { api, data } from "#lib/api/client.ts";
import type { components, paths } from "#lib/api/schema.d.ts";
import { download } from "#lib/download.ts";
import { nameOf, type Stored, underFreeName } from "#lib/new-assistant.ts";

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

/** Make an assistant of another one under a title. */
export async function clone(id: string, title: string): Promise<Stored> {
  const content = await file(id);
  return underFreeName(nameOf(title), (name) => load(name, { ...content, title }));
}

export const remove = (id: string): Promise<unknown> =>
  data(api.DELETE("/assistants/{id}", { params: { path: { id } } }));
