import { api, data } from "#lib/api/client.ts";
import type { components } from "#lib/api/schema.d.ts";
import { money, number, t } from "#lib/i18n/index.svelte.ts";

export type Sum = components["schemas"]["UsageSum"];
export const MEASURES = ["cost", "requests", "tokens"] as const;
export type Measure = (typeof MEASURES)[number];
export interface Point {
  day: string;
  /** Null if the day's tokens have no price. */
  value: number | null;
}
const MILLISECONDS_OF_A_DAY = 86_400_000;
const DAYS = 30;
const MAX_DAYS = 1000;
const MAX_TITLES = 200;

/** Return the titles of the assistants that the user may change, by their identifiers. */
export async function fetchTitles(signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
  const query = { selection: "managed" as const, page_size: MAX_TITLES };
  const { assistants } = await data(api.GET("/assistants", { params: { query }, signal }));
  return new Map(assistants.map(({ id, title }) => [id, title]));
}

/** Return a day of UTC as the server writes it. */
export const isoDay = (milliseconds: number): string => new Date(milliseconds).toISOString().slice(0, 10);

/** Return the first and the last of the newest days. */
export function newestDays(): { from: string; to: string } {
  const now = Date.now();
  return { from: isoDay(now - (DAYS - 1) * MILLISECONDS_OF_A_DAY), to: isoDay(now) };
}

export function valueOf(sum: Sum, measure: Measure): number | null {
  if (measure === "cost") return sum.cost_usd;
  return measure === "requests" ? sum.requests : sum.prompt_tokens + sum.completion_tokens;
}

/** Return a point for each day of a period; days without a sum consumed nothing. */
export function pointsOf(sums: readonly Sum[], first: string, last: string, measure: Measure): Point[] {
  const byDay = new Map(sums.map((sum) => [sum.day, valueOf(sum, measure)]));
  const points: Point[] = [];
  const end = Date.parse(last);
  for (let at = Date.parse(first); at <= end && points.length < MAX_DAYS; at += MILLISECONDS_OF_A_DAY) {
    const day = isoDay(at);
    points.push({ day, value: byDay.has(day) ? byDay.get(day)! : 0 });
  }
  return points;
}

/** Return a cost as text: one that is not known is no zero. */
export const costText = (cost: number | null): string =>
  cost === null ? t("usage.noPrice") : cost === 0 ? money(0) : money(cost);

export const measureText = (value: number | null, measure: Measure): string =>
  measure === "cost" ? costText(value) : number(value ?? 0);
