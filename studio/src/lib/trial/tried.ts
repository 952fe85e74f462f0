/** The assistant of a trial, and its tools in a trace. */

import type { components } from "#lib/api/schema.d.ts";

export type Tried = components["schemas"]["TriedAssistant"];
/** What a trace needs of the assistant. */
export type Traced = Pick<Tried, "tools">;

/** Return the position of the tool with a binding, -1 if there is none.
 *
 * A binding without an id has that of its type; further ones of the type end with `_2`, `_3`.
 */
export function bindingIndex(assistant: Traced, binding: string): number {
  const tools = assistant.tools ?? [];
  const named = tools.findIndex(({ id }) => id === binding);
  if (named >= 0) return named;
  const counts = new Map<string, number>();
  return tools.findIndex(({ type }) => {
    const count = (counts.get(type) ?? 0) + 1;
    counts.set(type, count);
    return binding === (count === 1 ? type : `${type}_${count}`);
  });
}
