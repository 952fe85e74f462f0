/** The page of the documentation about each screen. The gateway serves the documentation at `/docs`. */

const PAGES: Readonly<Record<string, string>> = {
  "": "start/first-assistant",
  chat: "studio",
  "chat/[id]": "studio",
  "chat/framed/[assistant]": "studio",
  "chat/join": "studio",
  start: "start/first-assistant",
  assistants: "guides/assistants",
  "assistants/[id]": "guides/assistants",
  "assistants/[id]/insights": "sharing",
  "assistants/[id]/questions": "studio",
  "assistants/[id]/sharing": "sharing",
  "assistants/[id]/versions": "versions",
  gallery: "examples/index",
  knowledge: "guides/documents",
  "knowledge/[id]": "guides/documents",
  "knowledge/[id]/[file]": "guides/documents",
  groups: "sharing",
  "groups/[id]": "sharing",
  rubrics: "examples/rubric-grader",
  "rubrics/[id]": "examples/rubric-grader",
  tools: "guides/tools",
  "tools/[name]": "guides/tools",
  models: "guides/providers",
  usage: "guides/usage",
  organizations: "guides/organizations",
  "organizations/[slug]": "guides/providers",
  "organizations/[slug]/mcp": "guides/mcp",
  "organizations/[slug]/prices": "guides/usage",
  "organizations/[slug]/users": "guides/roles",
  keys: "guides/keys",
  audit: "guides/audit",
  migration: "lamb-import",
  "migration/[id]": "lamb-import",
  health: "faults",
  setup: "sign-in",
  "sign-in": "sign-in",
};

/** Return the page about the screen of a route, such as `/(app)/tools/[name]`; empty if there is none. */
export function helpOf(route: string | null): string {
  const page = PAGES[(route ?? "").replace(/^\/(\((?:app|chat)\)\/?)?/, "")];
  return page === undefined ? "" : `/docs/${page}.html`;
}
