/** What of the catalogue an assistant can use. */

import type { Assistant, Binding } from "./assistant.ts";
import { type Tool, toolTexts } from "#lib/tools.ts";
import {
  type Catalog,
  type Connector,
  DEFAULT_PROCESSOR,
  DEFAULT_STRATEGY,
  type Mode,
  type Strategy,
} from "./catalog.ts";
import type { Slot } from "./template.ts";

export const USER_INPUT = "user_input";

export const connectorOf = (assistant: Assistant, catalog: Catalog): Connector | undefined =>
  catalog.connectors.find(({ name }) => name === assistant.model.connector);

export const strategyOf = (assistant: Assistant, catalog: Catalog): Strategy | undefined =>
  catalog.strategies.find(({ name }) => name === (assistant.strategy || DEFAULT_STRATEGY));

export const toolOf = (binding: Binding, catalog: Catalog): Tool | undefined =>
  catalog.tools.find(({ name }) => name === binding.type);

/** Return the modes of a tool in which the assistant can use it. */
export function possibleModes(tool: Tool, assistant: Assistant, catalog: Catalog): Mode[] {
  const routes = strategyOf(assistant, catalog)?.runs_agent_tools ?? true;
  return tool.modes.filter((mode) => {
    const connectors = tool.connectors?.[mode]; // unknown while the connectors do not answer
    return (connectors?.includes(assistant.model.connector) ?? true) && (mode !== "agent" || routes);
  });
}

/** Return an id as the server numbers bindings: by it, edits of two people are compared. */
export function newBindingId(name: string, tools: readonly Binding[]): string {
  const taken = new Set(tools.map(({ id }) => String(id)));
  for (let number = 2; taken.has(name); number += 1)
    if (!taken.has(`${name}_${number}`)) return `${name}_${number}`;
  return name;
}

/** Return the slot that a binding fills. */
export const slotOf = (binding: Binding, tool: Tool | undefined): string =>
  binding.slot || tool?.default_slot || "";

export const runsBeforeModel = (binding: Binding): boolean =>
  binding.enabled !== false && (binding.mode ?? "augment") === "augment";

/** Return what a template in LAMB's syntax has as slots: also those of tools that are off or fill none. */
export const lambSlots = (assistant: Assistant, catalog: Catalog | null): string[] => [
  ...new Set([
    USER_INPUT,
    "context",
    ...(assistant.tools ?? []).map(
      (binding) => (catalog && slotOf(binding, toolOf(binding, catalog))) || binding.slot || binding.type,
    ),
    ...(catalog ? processorSlots(assistant, catalog) : []),
  ]),
];

function processorSlots(assistant: Assistant, catalog: Catalog): readonly string[] {
  const processor = assistant.prompt_processor || DEFAULT_PROCESSOR;
  return catalog.processors.find(({ name }) => name === processor)?.slots ?? [];
}

/** Return the slots that a template can have, in the order of the tools. */
export function slotsFor(assistant: Assistant, catalog: Catalog, language: string, question: string): Slot[] {
  const titles = new Map([[USER_INPUT, question]]);
  for (const binding of (assistant.tools ?? []).filter(runsBeforeModel)) {
    const tool = toolOf(binding, catalog);
    const name = slotOf(binding, tool);
    const title = tool ? toolTexts(tool, language).title : binding.type;
    if (name) titles.set(name, titles.has(name) ? `${titles.get(name)}, ${title}` : title);
  }
  const processor = assistant.prompt_processor || DEFAULT_PROCESSOR;
  for (const name of processorSlots(assistant, catalog)) if (!titles.has(name)) titles.set(name, processor);
  return [...titles].map(([name, title]) => ({ name, title }));
}
