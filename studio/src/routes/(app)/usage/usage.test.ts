import { expect, test } from "vitest";

import { pointsOf, type Sum, valueOf } from "./usage.ts";

const sum = (day: string, cost: number | null): Sum => ({
  day,
  assistant_id: null,
  assistant_name: null,
  connector: null,
  model: null,
  organization: null,
  requests: 2,
  usage_unknown: 0,
  prompt_tokens: 5,
  cached_tokens: 0,
  completion_tokens: 6,
  unpriced_tokens: cost === null ? 11 : 0,
  cost_usd: cost,
});

test("each day of a period has a point, and an unknown cost is no zero", () => {
  const sums = [sum("2026-02-27", 1.5), sum("2026-03-01", null)];
  expect(pointsOf(sums, "2026-02-27", "2026-03-02", "cost")).toEqual([
    { day: "2026-02-27", value: 1.5 },
    { day: "2026-02-28", value: 0 },
    { day: "2026-03-01", value: null },
    { day: "2026-03-02", value: 0 },
  ]);
  expect(pointsOf(sums, "2026-03-02", "2026-02-27", "cost")).toEqual([]);
});

test("tokens are those of prompts and of answers", () => {
  expect(valueOf(sum("2026-02-27", 1), "tokens")).toBe(11);
  expect(valueOf(sum("2026-02-27", 1), "requests")).toBe(2);
});
