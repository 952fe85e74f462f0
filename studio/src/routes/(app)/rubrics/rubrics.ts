/** Rubrics: how work is assessed. */

import { api, data, versioned } from "#lib/api/client.ts";
import type { components } from "#lib/api/schema.d.ts";
import { session } from "#lib/session.svelte.ts";

export type RubricSummary = components["schemas"]["RubricSummary"];
export type Content = components["schemas"]["RubricBody"]["content"];
export type Criterion = Content["criteria"][number];
export type Level = Criterion["levels"][number];

/** A rubric as the form edits it. */
export interface Rubric extends Record<string, unknown> {
  public: boolean;
  content: Content;
  /** Of what the edit began with, perhaps before a reload; empty for a new one. */
  etag: string;
}

/** The id of a rubric that is not stored yet. */
export const NEW = "new";
export const SCORING = ["points", "percentage", "holistic", "single-point", "checklist"] as const;
const LEVELS = 2;

/** Whether the user may change a rubric: its owner may, and administrators. */
export const mayChange = (owner: string): boolean =>
  owner === session.me?.subject || session.may("manage_organization");

const newId = (): string => crypto.randomUUID().slice(0, 8);

export const newLevel = (score = 0): Level => ({ id: newId(), score, label: "", description: "" });

export const newCriterion = (): Criterion => ({
  id: newId(),
  name: "",
  description: "",
  weight: 0,
  levels: Array.from({ length: LEVELS }, (_, index) => newLevel(LEVELS - index)),
});

export const blank = (): Rubric => ({
  public: false,
  etag: "",
  content: {
    title: "",
    description: "",
    scoringType: "points",
    maxScore: 10,
    criteria: [{ ...newCriterion(), weight: 100 }],
    metadata: {},
  },
});

/** A rubric as the server has it. `content` is null if LAMB stored something that is no rubric. */
export interface Stored {
  id: string;
  owner: string;
  rubric: Rubric | null;
  title: string;
}

type Answer = { content: components["schemas"]["StoredRubric"]; etag: string };

const stored = ({ content, etag }: Answer): Stored => ({
  id: content.id,
  owner: content.owner,
  title: content.title,
  rubric: isRubric(content.content) ? { public: content.public, content: content.content, etag } : null,
});

const isRubric = (content: unknown): content is Content =>
  typeof content === "object" &&
  content !== null &&
  "criteria" in content &&
  Array.isArray(content.criteria) &&
  content.criteria.every((each) => Array.isArray((each as Criterion | null)?.levels));

export async function fetchRubric(id: string, signal: AbortSignal): Promise<Stored> {
  if (id === NEW) return { id: "", owner: session.me?.subject ?? "", title: "", rubric: blank() };
  return stored(await versioned(api.GET("/rubrics/{id}", { params: { path: { id } }, signal })));
}

/** Create or replace a rubric.
 *
 * Throws ApiError: Somebody else has changed it since (409), or it is not valid.
 */
export async function store({ id, owner }: Stored, rubric: Rubric): Promise<Stored> {
  const body = { public: rubric.public, content: rubric.content, ...(id && { owner }) };
  const call = id
    ? api.PUT("/rubrics/{id}", { params: { path: { id }, header: { "If-Match": rubric.etag } }, body })
    : api.POST("/rubrics", { body });
  return stored(await versioned<components["schemas"]["StoredRubric"]>(call));
}

/** Delete a rubric as it is now. */
export async function remove(id: string): Promise<void> {
  const { etag } = await versioned(api.GET("/rubrics/{id}", { params: { path: { id } } }));
  await data(api.DELETE("/rubrics/{id}", { params: { path: { id }, header: { "If-Match": etag } } }));
}
