import type { components } from "#lib/api/schema.d.ts";

export type Tool = components["schemas"]["InspectedTool"];

/** The states of tools in the order in which an administrator looks at them. */
export const STATES = ["changed", "new", "missing", "unchanged"] as const;

/** Whether the next step is to withdraw a pin, not to store one. */
export const isPinned = (tool: Tool): boolean =>
  tool.state === "unchanged" || tool.state === "missing" || (tool.state === "changed" && !tool.pin);
