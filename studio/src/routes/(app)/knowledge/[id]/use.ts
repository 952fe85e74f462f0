/** Binds a tool that searches a collection to an assistant. */

import { api, versioned } from "#lib/api/client.ts";
import type { components } from "#lib/api/schema.d.ts";
import type { ModelReference } from "#lib/models/models.ts";
import { language } from "#lib/i18n/index.svelte.ts";
import { madePrompt } from "#lib/made-prompt.ts";
import { answeringFrom, createUnder, nameOf, SEARCH } from "#lib/new-assistant.ts";
import { offerUndoOfSave } from "#lib/undo-assistants.ts";
import type { Collection } from "../knowledge.ts";

type Binding = components["schemas"]["ToolBindingBody"];

const QUESTION = "{user_input}";

const binding = (slot: string, { id }: Collection): Binding =>
  ({ id: slot, type: SEARCH, mode: "augment", slot, config: { collections: [id] } }) as Binding;

/** Return a name that no tool of the assistant has. */
function freeName(tools: readonly Binding[]): string {
  const taken = new Set(tools.flatMap((each) => [each.id, each.slot]));
  for (let count = 1; ; count++) {
    const name = count === 1 ? "knowledge" : `knowledge_${count}`;
    if (!taken.has(name)) return name;
  }
}

/** Make an assistant that answers from a collection, and return its identifier. */
export async function createWithTool(
  title: string,
  model: ModelReference,
  { id }: Collection,
): Promise<string> {
  const answering = answeringFrom([id], madePrompt(["context"], language()));
  return (await createUnder(nameOf(title), { title, model, ...answering } as never)).id!;
}

/** Add a tool that searches a collection to an assistant, and return the assistant's identifier. */
export async function addTool(id: string, collection: Collection): Promise<string> {
  const path = { id };
  const { content, etag } = await versioned(api.GET("/assistants/{id}", { params: { path } }));
  if (!("model" in content)) throw new Error("The assistant cannot be read.");
  const { warnings: _, malformed_metadata: __, read_only: ___, ...assistant } = content;
  const slot = freeName(assistant.tools);
  const body = {
    ...assistant,
    tools: [...assistant.tools, binding(slot, collection)],
    prompt_template: `{${slot}}\n\n${assistant.prompt_template || QUESTION}`,
  };
  const params = { path, header: { "If-Match": etag } };
  const saved = await versioned(api.PUT("/assistants/{id}", { params, body: body as never }));
  offerUndoOfSave({ id, name: assistant.name, before: etag, after: saved.etag });
  return id;
}
