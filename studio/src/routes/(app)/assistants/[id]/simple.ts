/** What the simple level shows of an assistant, and how it changes it. */

import { type Language, language, t } from "#lib/i18n/index.svelte.ts";
import { languageOf, madePrompt } from "#lib/made-prompt.ts";
import { DECLINING, SEARCH } from "#lib/new-assistant.ts";
import type { Schema } from "#lib/schema-form/schema.ts";
import type { Assistant, Binding } from "./assistant.ts";
import { type Tool, toolTexts } from "#lib/tools.ts";
import { type Catalog, DEFAULT_PROCESSOR, DEFAULT_STRATEGY, neededMembers } from "./catalog.ts";
import { newBindingId, possibleModes, runsBeforeModel, slotOf, toolOf } from "./offers.ts";

/** The tools that are offered first, each with a text of the studio: `simple.tool.NAME`. */
export const SUGGESTED = [
  "web_search",
  "rubric",
  "colqwen_search",
  "single_file",
  "question_bank",
  "moodle_assignments",
] as const;
export const MAX_OFFERED = 6;
const BINDING_SETTINGS = ["on_failure", "on_change", "timeout"] as const;

/** Return the binding that searches collections before the model answers. */
export function knowledgeOf(assistant: Assistant): Binding | undefined {
  const searches = assistant.tools.filter(
    (each) =>
      (each.mode ?? "augment") === "augment" &&
      each.enabled !== false &&
      (each.type === SEARCH || (Array.isArray(each.config?.["collections"]) && !isSuggested(each.type))),
  );
  return searches.find((each) => each.type === SEARCH) ?? searches[0];
}

const isSuggested = (type: string): boolean => SUGGESTED.some((each) => each === type);

/** Return the texts of a tool in words for people, the server's if the studio has none. */
export function everydayTexts(tool: Tool): { title: string; description: string } {
  const known = ([...SUGGESTED, SEARCH] as const).find((each) => each === tool.name);
  if (!known) return toolTexts(tool, language());
  return { title: t(`simple.tool.${known}`), description: t(`simple.tool.${known}.text`) };
}

/** Return the places that the tools fill, each once. */
const placesOf = (assistant: Assistant, catalog: Catalog): string[] => [
  ...new Set(
    assistant.tools.filter(runsBeforeModel).flatMap((each) => slotOf(each, toolOf(each, catalog)) || []),
  ),
];

/** Change an assistant; its prompt follows if the studio made it. */
export function changeTools(
  assistant: Assistant,
  catalog: Catalog,
  preferred: Language,
  change: () => void,
): void {
  const language = languageOf(assistant.prompt_template, placesOf(assistant, catalog), preferred);
  change();
  if (language) assistant.prompt_template = madePrompt(placesOf(assistant, catalog), language);
}

/** Search collections before the model answers; without collections, do not search. */
export function setCollections(assistant: Assistant, collections: unknown): void {
  const known = knowledgeOf(assistant);
  if (!Array.isArray(collections) || collections.length === 0)
    assistant.tools = assistant.tools.filter((each) => each !== known);
  else if (known) known.config = { ...known.config, collections };
  else {
    const id = newBindingId(SEARCH, assistant.tools);
    const config = { collections, only_relevant: true };
    assistant.tools.unshift({ id, type: SEARCH, mode: "augment", enabled: true, slot: "", config });
    assistant.cite_sources = true;
    assistant.empty_response ||= DECLINING;
  }
}

/** Return whether an assistant declines questions that its documents do not answer. */
export const declines = (assistant: Assistant): boolean =>
  knowledgeOf(assistant)?.config?.["only_relevant"] === true && assistant.empty_response !== "";

/** Let an assistant decline such questions, or not. */
export function setDeclines(assistant: Assistant, value: boolean): void {
  const known = knowledgeOf(assistant);
  if (!known) return;
  known.config = { ...known.config, only_relevant: value };
  assistant.empty_response = value ? assistant.empty_response || DECLINING : "";
}

/** Use a tool: when the model asks for it if the model can, else always. */
export function addTool(assistant: Assistant, tool: Tool, catalog: Catalog): void {
  const modes = possibleModes(tool, assistant, catalog);
  const mode = modes.find((each) => each === "function") ?? modes[0] ?? "augment";
  const id = newBindingId(tool.name, assistant.tools);
  assistant.tools.push({ id, type: tool.name, mode, enabled: true, slot: "", config: {} });
}

/** Return the part of a tool's settings without which it does nothing; null if it needs none. */
export function neededSchema(tool: Tool): Schema | null {
  const needed = new Set(neededMembers(tool));
  const all = Object.entries((tool.config_schema["properties"] ?? {}) as Record<string, unknown>);
  const properties = Object.fromEntries(all.filter(([name]) => needed.has(name)));
  return needed.size > 0 ? { ...tool.config_schema, properties } : null;
}

/** Return the paths of the settings that differ from what the simple level makes, and that only the
 * advanced one shows. */
export function hiddenSettings(assistant: Assistant, catalog: Catalog): string[] {
  const made = languageOf(assistant.prompt_template, placesOf(assistant, catalog), "en") !== null;
  const members: Record<string, boolean> = {
    description: assistant.description !== "",
    "capabilities.vision": assistant.capabilities.vision,
    "capabilities.image_generation": assistant.capabilities.image_generation,
    prompt_template: !made,
    template_syntax: assistant.template_syntax === "lamb",
    strategy: (assistant.strategy || DEFAULT_STRATEGY) !== DEFAULT_STRATEGY,
    max_tool_rounds: Boolean(assistant.max_tool_rounds),
    empty_response: ![DECLINING, ""].includes(assistant.empty_response),
    prompt_processor: (assistant.prompt_processor || DEFAULT_PROCESSOR) !== DEFAULT_PROCESSOR,
    cite_sources: assistant.cite_sources !== (knowledgeOf(assistant)?.type === SEARCH),
    output_hosts: assistant.output_hosts !== "",
    verbose: assistant.verbose,
  };
  const own = Object.keys(members).filter((path) => members[path]);
  return [...own, ...assistant.tools.flatMap((each, index) => ofBinding(each, index, catalog))];
}

function ofBinding(binding: Binding, index: number, catalog: Catalog): string[] {
  const tool = toolOf(binding, catalog);
  const shown = new Set(tool ? neededMembers(tool) : []);
  const names = [
    ...(binding.enabled === false ? ["enabled"] : []),
    ...BINDING_SETTINGS.filter((name) => binding[name] !== undefined && binding[name] !== null),
    ...Object.keys(binding.config ?? {})
      .filter((name) => !shown.has(name) && !(binding.type === SEARCH && name === "only_relevant"))
      .map((name) => `config.${name}`),
  ];
  return names.map((name) => `tools[${index}].${name}`);
}

type Config = NonNullable<Binding["config"]>;

/** Return the members of a configuration that a schema names. */
export const shownConfig = (config: Config, { properties }: Schema): Config =>
  Object.fromEntries(Object.entries(config).filter(([name]) => Object.hasOwn(properties as object, name)));

/** Return a configuration whose members that a schema names are others now. */
export const withShown = (config: Config, { properties }: Schema, shown: Config): Config => ({
  ...Object.fromEntries(
    Object.entries(config).filter(([name]) => !Object.hasOwn(properties as object, name)),
  ),
  ...shown,
});
