/** What an assistant can be made of, as the server lists it. */

import { api, data } from "#lib/api/client.ts";
import type { components, paths } from "#lib/api/schema.d.ts";
import { t } from "#lib/i18n/index.svelte.ts";
import { fetchTools, type Tool } from "#lib/tools.ts";
import { type Schema, textsOf } from "#lib/schema-form/schema.ts";

export type Mode = Tool["modes"][number];
export type Connector = components["schemas"]["ConnectorList"]["connectors"][number];
export type Strategy =
  paths["/strategies"]["get"]["responses"]["200"]["content"]["application/json"]["strategies"][number];
export type PromptProcessor = components["schemas"]["PromptProcessor"];

/** Everything that an editor offers. */
export interface Catalog {
  tools: readonly Tool[];
  connectors: readonly Connector[];
  /** What answers for the default model, as `connector/model`. */
  defaultModel: string;
  strategies: readonly Strategy[];
  processors: readonly PromptProcessor[];
}

/** Return the names of what is used if an assistant names nothing. */
export const DEFAULT_STRATEGY = "parallel";
export const DEFAULT_PROCESSOR = "simple_augment";

export async function fetchCatalog(signal: AbortSignal): Promise<Catalog> {
  const [tools, connectors, strategies, processors] = await Promise.all([
    fetchTools(signal),
    data(api.GET("/connectors", { signal })),
    data(api.GET("/strategies", { signal })),
    data(api.GET("/prompt-processors", { signal })),
  ]);
  return {
    tools,
    connectors: connectors.connectors,
    defaultModel: connectors.default_model ?? "",
    strategies: strategies.strategies,
    processors: processors.prompt_processors,
  };
}

const STRATEGIES = [
  "agent",
  "agent_dspy",
  "agent_label",
  "agent_native",
  "agent_rules",
  "parallel",
  "sequential",
] as const;
const PROCESSORS = ["kvcache_augment", "moodle_augment", "simple_augment"] as const;
const CONNECTORS = ["anthropic", "banana_img", "bypass", "default", "local", "ollama", "openai"] as const;

/** Return a sentence about a strategy; one that the studio does not know has the server's. */
export function strategyText({ name, description }: Strategy): string {
  const known = STRATEGIES.find((each) => each === name);
  return known ? t(`editor.strategy.text.${known}`) : description;
}

/** Return a sentence about a prompt processor, likewise. */
export function processorText({ name, description }: PromptProcessor): string {
  const known = PROCESSORS.find((each) => each === name);
  return known ? t(`editor.processor.text.${known}`, { slot: "{moodle_user}" }) : description;
}

/** Return a sentence about a provider, likewise. */
export function connectorText({ name, description }: Connector): string {
  const known = CONNECTORS.find((each) => each === name);
  return known ? t(`editor.connector.text.${known}`) : description;
}

/** What tools are for, in the order in which they are offered. */
export const PURPOSES = ["know", "teach", "course", "files", "connect", "develop"] as const;
export type Purpose = (typeof PURPOSES)[number];
const PURPOSE_OF: Record<string, Purpose> = {
  rag: "know",
  utilities: "know",
  rubric: "teach",
  teaching: "teach",
  lms: "course",
  file: "files",
  development: "develop",
  legacy: "develop",
};
const PICKERS: ReadonlySet<unknown> = new Set(["collections", "collection", "rubric", "file"]);

const inputOf = (property: unknown): unknown => (property as Record<string, unknown>)["x-heddle-input"];

/** Return what a tool is for; a category that the studio does not know connects to something. */
export function purposeOf(tool: Tool): Purpose {
  const inputs = Object.values((tool.config_schema["properties"] ?? {}) as object).map(inputOf);
  // A file that the assistant's author chooses is something to know.
  if (tool.category === "file" && inputs.includes("file")) return "know";
  return PURPOSE_OF[tool.category] ?? "connect";
}

/** Return the settings of a tool that a person must choose. */
export function neededMembers({ config_schema: schema }: Tool): string[] {
  const required = (schema["required"] ?? []) as string[];
  return Object.entries((schema["properties"] ?? {}) as Record<string, unknown>)
    .filter(([name, property]) => required.includes(name) || PICKERS.has(inputOf(property)))
    .map(([name]) => name);
}

/** Return the names of the settings of a tool that a person must choose. */
export const needsOf = (tool: Tool, language: string): string[] =>
  neededMembers(tool).map((name) => {
    const properties = tool.config_schema["properties"] as Record<string, Schema>;
    return textsOf(properties[name]!, language).title || name.replaceAll("_", " ");
  });
