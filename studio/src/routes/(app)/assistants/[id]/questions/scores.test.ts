import { expect, test } from "vitest";
import { byWords, factsOf, numbersIn } from "./scores.ts";

test("facts are the lines that are not empty", () => {
  expect(factsOf({ title: "", text: "", expected: " one \n\ntwo" })).toEqual(["one", "two"]);
});

test("words are found whatever their case, accents and marks", () => {
  expect(byWords(["la llançadora", "4.4%", "trama"], "**La Llancadora** porta el 4.4% de la trame.")).toEqual(
    [true, true, false],
  );
});

test("numbers of facts are read, and nothing else", () => {
  expect(numbersIn("1, 3", 3)).toEqual([true, false, true]);
  expect(numbersIn("0", 2)).toEqual([false, false]);
  expect(numbersIn("1 2.", 2)).toEqual([true, true]);
  for (const text of ["4", "Facts 1 and 2", "-1"]) expect(numbersIn(text, 3)).toBeNull();
});
