/** The library of prompts: instructions that authors save, share and insert. */

import { api, data, versioned } from "#lib/api/client.ts";
import type { components } from "#lib/api/schema.d.ts";
import { session } from "#lib/session.svelte.ts";

export type Prompt = components["schemas"]["StoredPrompt"];
export type NewPrompt = Pick<
  Prompt,
  "title" | "description" | "system_prompt" | "prompt_template" | "public"
>;
type Answer = { content: Prompt; etag: string };
const PAGE_SIZE = 1000;

/** Return all prompts that the user may read, the newest first. */
export async function fetchPrompts(signal?: AbortSignal): Promise<Prompt[]> {
  const all: Prompt[] = [];
  let token = "";
  do {
    const query = { page_size: PAGE_SIZE, page_token: token };
    const page = await data(api.GET("/prompts", { params: { query }, signal }));
    all.push(...page.prompts);
    token = page.next_page_token;
  } while (token);
  return all.reverse();
}

/** Whether the user may change a prompt: its owner may, and administrators. */
export const mayChange = ({ owner }: Prompt): boolean =>
  owner === session.me?.subject || session.may("manage_organization");

export const isOwn = ({ owner }: Prompt): boolean => owner === session.me?.subject;

/** Save a prompt, in place of the user's own one with its title. */
export async function save(prompt: NewPrompt): Promise<void> {
  const same = (await fetchPrompts()).find((each) => isOwn(each) && each.title === prompt.title);
  if (!same) {
    await data(api.POST("/prompts", { body: prompt }));
    return;
  }
  const { path, header } = await current(same.id);
  await data(api.PUT("/prompts/{id}", { params: { path, header }, body: prompt }));
}

export async function remove(id: string): Promise<void> {
  const { path, header } = await current(id);
  await data(api.DELETE("/prompts/{id}", { params: { path, header } }));
}

/** Return the parameters of a change of a prompt as it is now. */
async function current(id: string): Promise<{ path: { id: string }; header: { "If-Match": string } }> {
  const path = { id };
  const { etag } = (await versioned(api.GET("/prompts/{id}", { params: { path } }))) as Answer;
  return { path, header: { "If-Match": etag } };
}
