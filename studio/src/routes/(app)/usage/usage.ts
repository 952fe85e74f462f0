import { api, data } from "#lib/api/client.ts";
import type { components } from "#lib/api/schema.d.ts";
import { daysOf } from "#lib/days.ts";
import { money, number, t } from "#lib/i18n/index.svelte.ts";

export type Sum = components["schemas"]["UsageSum"];
export const MEASURES = ["cost", "requests", "tokens"] as const;
export type Measure = (typeof MEASURES)[number];
export interface Point {
  day: string;
  /** Null if the day's tokens have no price. */
  value: number | null;
}
const MAX_TITLES = 200;

/** Return the titles of the assistants that the user may change, by their identifiers. */
export async function fetchTitles(signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
  const query = { selection: "managed" as const, page_size: MAX_TITLES };
  const { assistants } = await data(api.GET("/assistants", { params: { query }, signal }));
  return new Map(assistants.map(({ id, title }) => [id, title]));
}

export function valueOf(sum: Sum, measure: Measure): number | null {
  if (measure === "cost") return sum.cost_usd;
  return measure === "requests" ? sum.requests : sum.prompt_tokens + sum.completion_tokens;
}

/** Return a point for each day of a period; days without a sum consumed nothing. */
export const pointsOf = (sums: readonly Sum[], first: string, last: string, measure: Measure): Point[] =>
  daysOf(new Map(sums.map((sum) => [sum.day ?? "", valueOf(sum, measure)])), first, last);

/** Return a cost as text: one that is not known is no zero. */
export const costText = (cost: number | null): string =>
  cost === null ? t("usage.noPrice") : cost === 0 ? money(0) : money(cost);

export const measureText = (value: number | null, measure: Measure): string =>
  measure === "cost" ? costText(value) : number(value ?? 0);
