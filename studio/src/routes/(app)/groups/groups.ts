/** Groups of learners. */

import { api, data, versioned } from "#lib/api/client.ts";
import type { components } from "#lib/api/schema.d.ts";

export type Group = components["schemas"]["LearnerGroup"];
export interface Stored {
  content: Group;
  etag: string;
}
/** What the form edits. */
export interface Edited extends Record<string, unknown> {
  title: string;
  /** Addresses, one on a line. */
  teachers: string;
  assistants: string[];
  claim: string;
}

const MAX_AT_ONCE = 1_000;
const MAX_TITLES = 200;
const MILLISECONDS = 1_000;
const ADDRESS = /[^\s,;:"'<>()]+@[^\s,;:"'<>()]+\.[^\s,;:"'<>()]+/g;

/** Return the addresses in a text, such as a table of a school's administration. */
export const addressesIn = (text: string): string[] => [
  ...new Set((text.match(ADDRESS) ?? []).map((each) => each.toLowerCase())),
];

export const fetchGroup = (id: string, signal?: AbortSignal): Promise<Stored> =>
  versioned(api.GET("/groups/{id}", { params: { path: { id } }, ...(signal && { signal }) }));

export const createGroup = (title: string): Promise<Group> => data(api.POST("/groups", { body: { title } }));

export const editable = ({ title, teachers, assistants, claim }: Group): Edited => ({
  title,
  teachers: teachers.join("\n"),
  assistants,
  claim,
});

export function saveGroup(id: string, etag: string, edited: Edited): Promise<Stored> {
  const { title, teachers, assistants, claim } = edited;
  const lines = teachers.split(/[\s,;]+/).filter(Boolean);
  const params = { path: { id }, header: { "If-Match": etag } };
  const body = { title, teachers: lines, assistants, claim };
  return versioned(api.PUT("/groups/{id}", { params, body }));
}

export const deleteGroup = (id: string) => api.DELETE("/groups/{id}", { params: { path: { id } } });

/** Add members, however many; return those who were not in the group. */
export async function addMembers(id: string, emails: readonly string[]): Promise<number> {
  let added = 0;
  for (let at = 0; at < emails.length; at += MAX_AT_ONCE) {
    const body = { emails: emails.slice(at, at + MAX_AT_ONCE) };
    added += (await data(api.POST("/groups/{id}/members", { params: { path: { id } }, body }))).added.length;
  }
  return added;
}

export const removeMember = (group: string, email: string) =>
  api.DELETE("/groups/{group}/members/{email}", { params: { path: { group, email } } });

/** Make a new code that is valid until the end of a day. */
export const newCode = (id: string, lastDay: string, uses: number) => {
  const expires_at = Math.floor(new Date(`${lastDay}T23:59:59`).getTime() / MILLISECONDS);
  return data(api.POST("/groups/{id}/code", { params: { path: { id } }, body: { expires_at, uses } }));
};

export const deleteCode = (id: string) => api.DELETE("/groups/{id}/code", { params: { path: { id } } });

/** Return the titles of assistants by their identifiers: all that the user knows, or those they may share. */
export async function fetchTitles(
  selection: "all" | "managed",
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const query = { selection, page_size: MAX_TITLES };
  const { assistants } = await data(api.GET("/assistants", { params: { query }, signal }));
  return new Map(assistants.map(({ id, title, name }) => [id, title || name]));
}
