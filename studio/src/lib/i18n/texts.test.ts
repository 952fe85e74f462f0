import { expect, test } from "vitest";

const files = import.meta.glob<Record<string, string>>("./*.json", { import: "default", eager: true });
const english = files["./en.json"]!;
const placeholders = (text: string): string[] => [...new Set(text.match(/\{\w+\}/g))].sort();

test.each(Object.entries(files))("%s has every text, with the same placeholders", (_, texts) => {
  expect(Object.keys(texts)).toEqual(Object.keys(english));
  for (const [key, text] of Object.entries(texts)) {
    expect(text.trim(), key).not.toBe("");
    expect(placeholders(text), key).toEqual(placeholders(english[key]!));
  }
});

test("plural forms come in pairs", () => {
  const forms = Object.keys(english).filter((key) => /\.(one|other)$/.test(key));
  for (const key of forms) {
    expect(english).toHaveProperty([key.replace(/\.(one|other)$/, ".one")]);
    expect(english).toHaveProperty([key.replace(/\.(one|other)$/, ".other")]);
  }
});
