import { expect, it } from "vitest";

import { offsets, slotsOf } from "./template.ts";

it("finds the slots that the server finds", () => {
  const template = "{a}{b_1} {user_input} {0} {1_2} {x y} {{c}} {a} {" + "d".repeat(64) + "}";
  expect([...slotsOf(template)]).toEqual(["a", "b_1", "user_input", "c"]);
});

it("turns positions in code points into those of UTF-16", () => {
  const text = "a😀b😀{slot}";
  const places = offsets(text, [10, 4, 4, 0, 2]);
  expect([...places]).toEqual([
    [0, 0],
    [2, 3],
    [4, 6],
    [10, 12],
  ]);
  expect(text.slice(places.get(4), places.get(10))).toBe("{slot}");
});

it("ends at the end of a text that became shorter", () => {
  expect(offsets("ab", [7]).get(7)).toBe(2);
});
