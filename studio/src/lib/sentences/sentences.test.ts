import { expect, test } from "vitest";

import sentences from "./sentences.json";
import { translated } from "./sentences.ts";

const LANGUAGES = ["es", "ca", "eu"] as const;
const placeholders = (text: string): string[] => text.match(/\{\w+\}/g)?.sort() ?? [];
const filled = (text: string): string => text.replace(/\{(\w+)\}/g, "«$1»");

test.each(sentences)("$en", (sentence) => {
  for (const language of LANGUAGES) {
    const own = placeholders(sentence[language]);
    expect(placeholders(sentence.en)).toEqual(expect.arrayContaining(own));
    expect(translated(filled(sentence.en), language)).toBe(filled(sentence[language]));
  }
});

test("a name with an apostrophe stands in other quotes", () => {
  const english = `"Ann's notes.pdf" is encrypted. Remove its password and add it again.`;
  expect(translated(english, "es")).toContain("Ann's notes.pdf está protegido");
});

test("what a tool says keeps the name of the tool", () => {
  expect(translated("rubric: The output was cut from 9 to 8 characters.", "ca")).toBe(
    "rubric: El resultat s'ha retallat de 9 a 8 caràcters.",
  );
});

test("an unknown sentence stays", () => expect(translated("Something else.", "eu")).toBeNull());
