/** New assistants: their names, and how they answer from collections. */

import { api, data } from "#lib/api/client.ts";
import { ApiError } from "#lib/api/errors.ts";
import type { Schema } from "#lib/schema-form/schema.ts";
import type { components, paths } from "#lib/api/schema.d.ts";

export type Stored = paths["/assistants"]["post"]["responses"]["201"]["content"]["application/json"];
type Members = Omit<paths["/assistants"]["post"]["requestBody"]["content"]["application/json"], "name">;
type Binding = components["schemas"]["ToolBindingBody"];

/** The metadata of the collection that has the documents of one assistant: its identifier. */
export const MARK = "studio_assistant";

/** The tool that searches collections before the model answers. */
export const SEARCH = "simple_rag";

/** The answer to questions that the documents do not answer: a sentence in the question's language. */
export const DECLINING = "auto";
const MAX_NAMES = 50;
const MAX_LENGTH = 100;

/** Return a name for programs that resembles a title. */
export function nameOf(title: string): string {
  const plain = title.normalize("NFD").replace(/\p{M}/gu, "");
  const name = plain.replace(/[^A-Za-z0-9]+/g, "_").replace(/^_+|_+$/g, "");
  return name.slice(0, MAX_LENGTH) || "assistant";
}

/** Make an assistant under the first name that is free: the one that is given, or with a number. */
export async function underFreeName(name: string, make: (name: string) => Promise<Stored>): Promise<Stored> {
  for (let number = 1; ; number++) {
    try {
      return await make(number === 1 ? name : `${name}_${number}`);
    } catch (error) {
      const taken = error instanceof ApiError && error.status === 409;
      if (!taken || number === MAX_NAMES) throw error;
    }
  }
}

export const createUnder = (name: string, members: Members): Promise<Stored> =>
  underFreeName(name, (free) => data(api.POST("/assistants", { body: { ...members, name: free } })));

/** Return the members of an assistant that answers from collections, with `{context}` in its template
 * where the passages go, and declines other questions. */
export function answeringFrom(
  collections: string[],
  template: string,
): { prompt_template: string; tools: Binding[]; cite_sources: boolean; empty_response: string } {
  const config = { collections, only_relevant: true };
  const tool = { type: SEARCH, mode: "augment", config } as Binding;
  return { prompt_template: template, tools: [tool], cite_sources: true, empty_response: DECLINING };
}

/** Return the schema of a form that chooses what an assistant knows, with its texts. */
export const knowledgeSchema = (title: string, description: string): Schema => ({
  properties: {
    collections: {
      type: "array",
      items: { type: "string" },
      title,
      description,
      "x-heddle-input": "collections",
    },
  },
});
