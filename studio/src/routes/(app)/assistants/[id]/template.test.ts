import { expect, it } from "vitest";

import { offsets, slotPattern, slotsOf } from "./template.ts";

it("finds the slots that the server finds", () => {
  const template = "{a}{b_1} {user_input} {0} {1_2} {x y} {{c}} {{{d}}} {a} {" + "e".repeat(64) + "}";
  expect([...slotsOf(template, slotPattern(null))]).toEqual(["a", "b_1", "user_input"]);
});

it("finds only the known slots of a template in LAMB's syntax", () => {
  const template = "{context} \\frac{a}{b} {{user_input}} {name} {x.y}";
  const known = ["user_input", "context", "x.y", "unused"];
  expect([...slotsOf(template, slotPattern(known))]).toEqual(["context", "user_input", "x.y"]);
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
