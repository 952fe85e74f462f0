/** The names of the members of an assistant for people, in the form and in the history. */

import { type Key, t } from "#lib/i18n/index.svelte.ts";

const NOT_IN_FORM = new Set(["owner", "organization", "published", "sharing", "model", "capabilities"]);

/** `tests/conversion/test_studio_names.py` fails if a member of the contract is missing. */
const MEMBERS: Readonly<Record<string, Key>> = {
  title: "assistants.titleField",
  name: "assistants.name",
  description: "assistants.description",
  icon: "editor.icon",
  starter_questions: "editor.starters",
  owner: "assistants.owner",
  organization: "versions.field.organization",
  published: "assistants.published",
  sharing: "versions.field.sharing",
  model: "editor.model",
  "model.connector": "editor.connector",
  "model.model": "assistants.model",
  system_prompt: "editor.systemPrompt",
  prompt_template: "editor.template",
  template_syntax: "editor.syntax",
  tools: "editor.tools",
  strategy: "editor.strategy",
  prompt_processor: "editor.processor",
  max_tool_rounds: "editor.maxToolRounds",
  empty_response: "editor.emptyResponse",
  output_hosts: "editor.outputHosts",
  cite_sources: "editor.citeSources",
  verbose: "editor.verbose",
  capabilities: "versions.field.capabilities",
  "capabilities.vision": "editor.vision",
  "capabilities.image_generation": "editor.imageGeneration",
};
const BINDING_MEMBERS: Readonly<Record<string, Key>> = {
  mode: "editor.tool.mode",
  slot: "editor.tool.slot",
  config: "editor.tool.options",
  on_failure: "editor.tool.onFailure",
  on_change: "editor.tool.onChange",
  timeout: "editor.tool.timeout",
  enabled: "editor.tool.enabled",
};

const named = (key: Key | undefined): string | undefined => key && t(key);

/** Return the paths of the members that the form has, in its order. */
export const memberPaths = (): string[] => Object.keys(MEMBERS).filter((path) => !NOT_IN_FORM.has(path));

/** Return the name of a member such as `model.connector`; null if it has none. */
export const memberName = (path: string): string | null => named(MEMBERS[path]) ?? null;

/** Return the name of a member of a tool's binding; null if it has none. */
export const bindingName = (path: string): string | null => named(BINDING_MEMBERS[path]) ?? null;

export const bindingPaths = (): string[] => Object.keys(BINDING_MEMBERS);
