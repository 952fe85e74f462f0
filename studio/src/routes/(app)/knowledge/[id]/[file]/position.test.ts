import { expect, test } from "vitest";

import { positionIn } from "./position.ts";

test.each([
  ["?passage=0", 0],
  ["?passage=120", 120],
  ["?passage=-1", null],
  ["?passage=1e9", null],
  ["?passage=9999999999", null],
  ["?passage=", null],
  ["", null],
])("the position in %j is %j", (query, position) => {
  expect(positionIn(new URLSearchParams(query), "passage")).toBe(position);
});
