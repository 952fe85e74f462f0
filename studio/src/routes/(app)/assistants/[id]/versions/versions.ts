/** The versions of an assistant, and how their differences are shown. */

import { api, data } from "#lib/api/client.ts";
import { ApiError } from "#lib/api/errors.ts";
import type { components } from "#lib/api/schema.d.ts";

export type Version = components["schemas"]["Version"];
export type WholeVersion = components["schemas"]["WholeVersion"];
export type Difference = components["schemas"]["Difference"];
export type Piece = components["schemas"]["TextPiece"];
type Comparison = components["schemas"]["VersionComparison"];
export type Tool = Pick<components["schemas"]["ToolBindingBody"], "id" | "type">;

/** What differs in one binding of a tool, or in the rest of the assistant. */
export interface Group {
  key: string;
  /** The binding; absent for fields of the assistant itself. */
  tool?: Tool;
  differences: Difference[];
}

/** Two versions, with the bindings of the later one. */
export interface Compared extends Comparison {
  groups: Group[];
}

/** The save that came before the user's. */
export interface Conflict {
  etag: string;
  author: string;
  save_time: number;
}

export const PAGE_SIZE = 25;
const BINDING = /^tools\[(\d+)\]/;

export const fetchPage = (
  id: string,
  token: string,
  signal: AbortSignal,
): Promise<components["schemas"]["VersionPage"]> =>
  data(
    api.GET("/assistants/{id}/versions", {
      params: { path: { id }, query: { page_size: PAGE_SIZE, page_token: token } },
      signal,
    }),
  );

export const fetchVersion = (id: string, number: number, signal: AbortSignal): Promise<WholeVersion> =>
  data(api.GET("/assistants/{id}/versions/{number}", { params: { path: { id, number } }, signal }));

/** Compare two versions. */
export async function compare(
  id: string,
  before: number,
  after: number,
  signal: AbortSignal,
): Promise<Compared> {
  const params = { path: { id, number: before }, query: { to: after } };
  const comparison = await data(api.GET("/assistants/{id}/versions/{number}/diff", { params, signal }));
  const { differences } = comparison;
  // Paths of changed bindings have numbers; only the assistant itself tells their names.
  const named = differences.some((each) => each.field.startsWith("tools[") && each.field.includes("."));
  const tools = named ? ((await fetchVersion(id, after, signal)).assistant.tools ?? []) : [];
  return { ...comparison, groups: grouped(differences, tools) };
}

/** Put the differences of each binding together. */
export function grouped(differences: readonly Difference[], tools: readonly Tool[]): Group[] {
  const groups = new Map<string, Group>();
  for (const each of differences) {
    const tool = bindingOf(each, tools);
    const key = tool ? `${each.kind === "removed" && isWhole(each) ? "removed" : "kept"} ${tool.id}` : "";
    const group = groups.get(key) ?? { key, ...(tool && { tool }), differences: [] };
    group.differences.push(each);
    groups.set(key, group);
  }
  return [...groups.values()];
}

/** Whether a difference is about a whole binding that was added or removed. */
export const isWhole = (difference: Difference): boolean => /^tools\[\d+\]$/.test(difference.field);

/** Return the path of a field within its binding. */
export const within = (field: string): string => field.replace(/^tools\[\d+\]\.?/, "");

function bindingOf(difference: Difference, tools: readonly Tool[]): Tool | undefined {
  const index = BINDING.exec(difference.field)?.[1];
  if (index === undefined) return undefined;
  if (isWhole(difference)) return (difference.after ?? difference.before) as Tool;
  return tools[Number(index)] ?? { id: Number(index), type: "" };
}

/** Return what the server says about a save that came before; null for other errors. */
export function conflictOf(error: unknown): Conflict | null {
  if (!(error instanceof ApiError) || error.status !== 409) return null;
  const body = error.body as { error?: { conflict?: Conflict } };
  return body.error?.conflict ?? null;
}
