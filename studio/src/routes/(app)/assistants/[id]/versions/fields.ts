/** The names of fields and actions for people. */

import { type Key, language, t } from "#lib/i18n/index.svelte.ts";

const FIELDS: Record<string, Key> = {
  name: "versions.field.name",
  title: "versions.field.title",
  description: "versions.field.description",
  owner: "versions.field.owner",
  organization: "versions.field.organization",
  published: "versions.field.published",
  sharing: "versions.field.sharing",
  system_prompt: "versions.field.system_prompt",
  prompt_template: "versions.field.prompt_template",
  model: "versions.field.model",
  "model.model": "versions.field.model",
  "model.connector": "versions.field.connector",
  tools: "versions.field.tools",
  strategy: "versions.field.strategy",
  prompt_processor: "versions.field.prompt_processor",
  capabilities: "versions.field.capabilities",
  "capabilities.vision": "versions.field.vision",
  "capabilities.image_generation": "versions.field.image_generation",
  verbose: "versions.field.verbose",
  cite_sources: "versions.field.cite_sources",
  max_tool_rounds: "versions.field.max_tool_rounds",
  empty_response: "versions.field.empty_response",
  mode: "versions.field.mode",
  enabled: "versions.field.enabled",
  slot: "versions.field.slot",
  on_failure: "versions.field.on_failure",
  timeout: "versions.field.timeout",
};
const ACTIONS: Record<string, Key> = {
  initial: "versions.action.initial",
  create: "versions.action.create",
  update: "versions.action.update",
  publish: "versions.action.publish",
  unpublish: "versions.action.unpublish",
  share: "versions.action.share",
  hand_over: "versions.action.hand_over",
  delete: "versions.action.delete",
  undelete: "versions.action.undelete",
  restore: "versions.action.restore",
  import: "versions.action.import",
  follow: "versions.action.follow",
  migrate: "versions.action.migrate",
  rollback: "versions.action.rollback",
};
const CONFIG = "config.";

interface Property {
  title?: string;
  "x-heddle-i18n"?: Record<string, { title?: string }>;
}

/** Return the name of a field; its path if it has none. */
export const fieldName = (path: string): string => (FIELDS[path] ? t(FIELDS[path]) : path);

export const actionName = (action: string): string => (ACTIONS[action] ? t(ACTIONS[action]) : action);

/** Return the name of a field of a binding, whose options the tool's schema names. */
export function toolFieldName(path: string, properties: Record<string, unknown> = {}): string {
  if (!path.startsWith(CONFIG)) return fieldName(path);
  const name = path.slice(CONFIG.length);
  const property = properties[name] as Property | undefined;
  return property?.["x-heddle-i18n"]?.[language()]?.title ?? property?.title ?? name;
}
