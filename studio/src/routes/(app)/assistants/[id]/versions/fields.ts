/** The names of fields and actions for people. */

import { type Key, language, t } from "#lib/i18n/index.svelte.ts";

import { bindingName, memberName } from "../members.ts";

const ACTIONS: Record<string, Key> = {
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
export const fieldName = (path: string): string => memberName(path) ?? path;

export const actionName = (action: string): string => (ACTIONS[action] ? t(ACTIONS[action]) : action);

/** Return the name of a field of a binding, whose options the tool's schema names. */
export function toolFieldName(path: string, properties: Record<string, unknown> = {}): string {
  if (!path.startsWith(CONFIG)) return bindingName(path) ?? path;
  const name = path.slice(CONFIG.length);
  const property = properties[name] as Property | undefined;
  return property?.["x-heddle-i18n"]?.[language()]?.title ?? property?.title ?? name;
}
