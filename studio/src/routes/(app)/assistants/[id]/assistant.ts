/** The assistant of the editor: its JSON form, and what of it differs. */

import { api, data } from "#lib/api/client.ts";
import type { components, paths } from "#lib/api/schema.d.ts";

type Json<T> = T extends { content: { "application/json": infer Content } } ? Content : never;
type Answer = Json<paths["/assistants/{id}"]["get"]["responses"]["200"]>;
/** What a caller sees who may use but not read the assistant. */
export type Summary = components["schemas"]["AssistantSummary"];
export type Binding = components["schemas"]["ToolBindingBody"];
export type Stored = Omit<Exclude<Answer, Summary>, "tools"> & { tools: Binding[] };
export type Report = components["schemas"]["ValidationReport"];
export type Fault = components["schemas"]["Fault"];

/** The unsaved assistant, as `POST /assistants` and `POST /assistants/try` take it. */
export type Assistant = Omit<Stored, "warnings" | "malformed_metadata" | "read_only" | "output_hosts"> & {
  output_hosts: string;
};
export type Member = keyof Assistant;

/** An assistant as the server has it. */
export interface Version {
  content: Stored;
  etag: string;
}

/** A version that somebody else saved, or the user in another window. */
export interface Other {
  version: Version;
  /** Empty if unknown. */
  author: string;
  /** When, in seconds since 1970; 0 if unknown. */
  seconds: number;
  /** Whether it made a save fail. */
  blocking?: boolean;
}

const NOT_MODIFIED = 304;

/** Members that an edit does not change: other routes do, or nothing does. */
export const FIXED: ReadonlySet<string> = new Set([
  "_format_version",
  "id",
  "owner",
  "organization",
  "published",
  "created",
]);

export const isReadable = (answer: Stored | Summary): answer is Stored => "model" in answer;

/** Return what the form edits of a stored assistant. */
export function editable(stored: Stored): Assistant {
  const { warnings: _, malformed_metadata: __, read_only: ___, ...assistant } = structuredClone(stored);
  return { ...assistant, output_hosts: assistant.output_hosts ?? "" };
}

/** Return whether two JSON values are equal. */
export function same(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const left = Object.entries(one).filter(([, value]) => value !== undefined);
  const right = new Map(Object.entries(other).filter(([, value]) => value !== undefined));
  return left.length === right.size && left.every(([name, value]) => same(value, right.get(name)));
}

/** Return the members that an edit changed. */
export function changes(before: Assistant, after: Assistant): Member[] {
  const members = new Set([...Object.keys(before), ...Object.keys(after)]) as Set<Member>;
  return [...members].filter((each) => !FIXED.has(each) && !same(before[each], after[each]));
}

/** Fetch an assistant; null if it still is the version with the ETag `known`. */
export async function fetchAssistant(
  id: string,
  { known = "", signal }: { known?: string; signal?: AbortSignal } = {},
): Promise<{ content: Answer; etag: string } | null> {
  const headers = known ? { "If-None-Match": known } : {};
  const params = { path: { id } };
  const call = await api.GET("/assistants/{id}", { params, headers, ...(signal && { signal }) });
  if (call.response.status === NOT_MODIFIED) return null;
  return { content: call.data as Answer, etag: call.response.headers.get("etag") ?? "" };
}

/** Return who saved an assistant last, and when. */
export async function savedBy(id: string): Promise<{ author: string; seconds: number }> {
  const params = { path: { id }, query: { page_size: 1 } };
  const { versions } = await data(api.GET("/assistants/{id}/versions", { params }));
  return { author: versions[0]?.author ?? "", seconds: versions[0]?.save_time ?? 0 };
}
