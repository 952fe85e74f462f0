/** The texts in parts, a folder for each, and which of them a screen needs beside `shell`.
 *
 * A part that only some users of a screen need is loaded with its component: `speakOf`.
 */

import type answers from "./answers/en.json";
import type assistants from "./assistants/en.json";
import type audit from "./audit/en.json";
import type catalog from "./catalog/en.json";
import type chat from "./chat/en.json";
import type connect from "./connect/en.json";
import type editor from "./editor/en.json";
import type form from "./form/en.json";
import type frame from "./frame/en.json";
import type gallery from "./gallery/en.json";
import type groups from "./groups/en.json";
import type health from "./health/en.json";
import type insights from "./insights/en.json";
import type knowledge from "./knowledge/en.json";
import type members from "./members/en.json";
import type migration from "./migration/en.json";
import type models from "./models/en.json";
import type organizations from "./organizations/en.json";
import type questions from "./questions/en.json";
import type rubrics from "./rubrics/en.json";
import type setup from "./setup/en.json";
import type sharing from "./sharing/en.json";
import type shell from "./shell/en.json";
import type start from "./start/en.json";
import type trial from "./trial/en.json";
import type usage from "./usage/en.json";
import type versions from "./versions/en.json";

interface Texts {
  answers: typeof answers;
  assistants: typeof assistants;
  audit: typeof audit;
  catalog: typeof catalog;
  chat: typeof chat;
  connect: typeof connect;
  editor: typeof editor;
  form: typeof form;
  frame: typeof frame;
  gallery: typeof gallery;
  groups: typeof groups;
  health: typeof health;
  insights: typeof insights;
  knowledge: typeof knowledge;
  members: typeof members;
  migration: typeof migration;
  models: typeof models;
  organizations: typeof organizations;
  questions: typeof questions;
  rubrics: typeof rubrics;
  sharing: typeof sharing;
  setup: typeof setup;
  shell: typeof shell;
  start: typeof start;
  trial: typeof trial;
  usage: typeof usage;
  versions: typeof versions;
}
export type Part = keyof Texts;
export type TextKey = { [P in Part]: keyof Texts[P] }[Part];

/** By route; a route that is not here needs what the one above it needs. The first screen needs none. */
const PARTS: Readonly<Record<string, readonly Part[]>> = {
  assistants: ["assistants", "form", "models"],
  "assistants/[id]": ["answers", "assistants", "catalog", "editor", "form", "members", "models", "trial"],
  "assistants/[id]/insights": ["insights"],
  "assistants/[id]/questions": ["answers", "assistants", "questions", "trial"],
  "assistants/[id]/sharing": ["assistants", "sharing"],
  "assistants/[id]/versions": ["assistants", "members", "versions"],
  audit: ["audit"],
  chat: ["chat"],
  "chat/[id]": ["answers", "chat"],
  "chat/framed/[assistant]": ["answers", "chat"],
  "chat/join": ["chat"],
  gallery: ["assistants", "gallery", "models"],
  groups: ["groups"],
  "groups/[id]": ["groups", "insights"],
  health: ["health"],
  keys: ["frame", "organizations"],
  knowledge: ["knowledge"],
  "knowledge/[id]": ["knowledge", "models"],
  "knowledge/[id]/[file]": ["knowledge"],
  migration: ["migration"],
  models: ["connect", "setup"],
  organizations: ["organizations"],
  rubrics: ["rubrics"],
  setup: ["frame", "setup"],
  "sign-in": ["frame"],
  start: ["assistants", "models", "setup", "start"],
  tools: ["catalog"],
  "tools/[name]": ["catalog", "form"],
  usage: ["usage"],
};

/** Return the parts for a route such as `/(app)/knowledge/[id]` or `/sign-in`. */
export function partsOf(route: string | null): readonly Part[] {
  const names = route?.split("/").filter((name) => name && !name.startsWith("(")) ?? [];
  while (names.length > 0) {
    const parts = PARTS[names.join("/")];
    if (parts) return parts;
    names.pop();
  }
  return [];
}
