/** The ready assistants that one can copy, and their texts. */

import { api, data } from "#lib/api/client.ts";
import type { components } from "#lib/api/schema.d.ts";
import { t } from "#lib/i18n/index.svelte.ts";
import type { ModelReference } from "#lib/models/models.ts";
import { type Stored, MARK } from "#lib/new-assistant.ts";

export type Example = components["schemas"]["AssistantSummary"];

/** The examples with texts of the studio: `gallery.NAME` and `gallery.NAME.text`. */
const KNOWN = [
  "course_assistant",
  "help_desk",
  "figure_reader",
  "rubric_grader",
  "web_research",
  "code_assistant",
  "mercurial_guide",
  "image_maker",
  "moodle_companion",
  "mcp_calendar",
] as const;
const MAX_EXAMPLES = 100;
const COLLECTIONS = /\.config\.collections$/;

export async function fetchExamples(signal: AbortSignal): Promise<Example[]> {
  const query = { selection: "examples" as const, page_size: MAX_EXAMPLES };
  const { assistants } = await data(api.GET("/assistants", { params: { query }, signal }));
  const place = ({ name }: Example): number => {
    const index = KNOWN.findIndex((each) => each === name);
    return index < 0 ? KNOWN.length : index;
  };
  return assistants.toSorted((one, other) => place(one) - place(other));
}

/** Return the title and one sentence about an example, in the language of the user if they are known. */
export function textsOf({ name, title, description }: Example): { title: string; text: string } {
  const known = KNOWN.find((each) => each === name);
  return known
    ? { title: t(`gallery.${known}`), text: t(`gallery.${known}.text`) }
    : { title, text: description };
}

/** Copy an example with its documents; documents that are added later go into the copy's collection. */
export async function copy(example: Example, title: string, model: ModelReference): Promise<Stored> {
  const params = { path: { id: example.id } };
  const copied = await data(api.POST("/assistants/{id}/copy", { params, body: { title, model } }));
  const [id] = copied.tools.flatMap((each) => (each.config["collections"] ?? []) as string[]);
  if (id && notCopied(copied).length === 0) {
    const body = { metadata: { [MARK]: copied.id! } };
    await data(api.POST("/v1/vector_stores/{id}", { params: { path: { id } }, body }));
  }
  return copied;
}

/** Return what the server says about documents that are not copied. */
export const notCopied = ({ warnings }: Stored): string[] =>
  warnings.filter(({ field }) => COLLECTIONS.test(field)).map(({ description }) => description);
