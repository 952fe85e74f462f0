/** What assistants did in the last seven days. */

import { api, data } from "#lib/api/client.ts";

const DAYS = 7;
const DAY_MILLISECONDS = 86_400_000;
const MAX_ROWS = 1_000;

export interface Week {
  /** The last day with an answer, at noon, in seconds since 1970. */
  last: number;
  requests: number;
  /** In dollars; null if no token has a price. */
  cost: number | null;
  unpricedTokens: number;
}

/** Return the week of assistants by their ids; those without an answer are not there. */
export async function fetchWeek(ids: readonly string[], signal: AbortSignal): Promise<Map<string, Week>> {
  const first = new Date(Date.now() - (DAYS - 1) * DAY_MILLISECONDS).toISOString().slice(0, 10);
  const query = {
    by: "assistant,day",
    from: first,
    assistant: ids.join(","),
    page_size: MAX_ROWS,
  };
  const { sums } = await data(api.GET("/usage", { params: { query }, signal }));
  const weeks = new Map<string, Week>();
  for (const { assistant_id: id, day, requests, cost_usd: cost, unpriced_tokens: unpriced } of sums) {
    const week = weeks.get(id ?? "") ?? { last: 0, requests: 0, cost: null, unpricedTokens: 0 };
    weeks.set(id ?? "", {
      last: Math.max(week.last, Date.parse(`${day}T12:00Z`) / 1000),
      requests: week.requests + requests,
      cost: cost === null ? week.cost : (week.cost ?? 0) + cost,
      unpricedTokens: week.unpricedTokens + unpriced,
    });
  }
  return weeks;
}
