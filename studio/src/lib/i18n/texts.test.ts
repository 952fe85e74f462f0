import { expect, test } from "vitest";

import { partsOf } from "./parts.ts";

type Texts = Record<string, string>;
const files = import.meta.glob<Texts>("./*/*.json", { import: "default", eager: true });
const placeholders = (text: string): string[] => [...new Set(text.match(/\{\w+\}/g))].sort();
const english = new Map(
  Object.entries(files).flatMap(([path, texts]) =>
    path.endsWith("/en.json") ? [[path.split("/")[1]!, texts] as const] : [],
  ),
);
const parts = new Map([...english].flatMap(([part, texts]) => Object.keys(texts).map((key) => [key, part])));
const sources = import.meta.glob<string>(
  ["../frame/*", "../components/*", "../*.{ts,svelte}", "../upload/*", "../../routes/**/*.{ts,svelte}"],
  { query: "?raw", import: "default", eager: true },
);

const program = Object.values(
  import.meta.glob<string>(["../**/*.{ts,svelte}", "../../routes/**/*.{ts,svelte}"], {
    query: "?raw",
    import: "default",
    eager: true,
  }),
).join("\n");

test("every text is shown by a screen", () => {
  const beginnings = [...program.matchAll(/`([\w.]+\.)\$\{/g)].map(([, beginning]) => beginning!);
  const unused = [...parts.keys()].filter((key) => {
    const name = key.replace(/\.(one|other)$/, "");
    return !program.includes(`"${name}"`) && !beginnings.some((each) => name.startsWith(each));
  });
  expect(unused).toEqual([]);
});

test.each(Object.entries(files))("%s has every text, with the same placeholders", (path, texts) => {
  const expected = english.get(path.split("/")[1]!)!;
  expect(Object.keys(texts)).toEqual(Object.keys(expected));
  for (const [key, text] of Object.entries(texts)) {
    expect(text.trim(), key).not.toBe("");
    expect(placeholders(text), key).toEqual(placeholders(expected[key]!));
  }
});

test("plural forms come in pairs, and a text is in one part", () => {
  for (const texts of english.values())
    for (const key of Object.keys(texts).filter((each) => /\.(one|other)$/.test(each))) {
      expect(texts).toHaveProperty([key.replace(/\.(one|other)$/, ".one")]);
      expect(texts).toHaveProperty([key.replace(/\.(one|other)$/, ".other")]);
    }
  expect(parts.size).toBe([...english.values()].reduce((sum, each) => sum + Object.keys(each).length, 0));
});

test.each(Object.entries(sources))("the texts that %s shows are loaded with it", (path, source) => {
  const route = /routes(\/\(app\)\/.*)\/[^/]+$/.exec(path)?.[1] ?? null;
  const loaded = ["shell", ...(path.includes("/upload/") ? ["knowledge"] : partsOf(route))];
  const needed = [...source.matchAll(/["`]([a-zA-Z]+(?:\.[a-zA-Z]+)*)["`]/g)]
    .flatMap(([, key]) => [key!, `${key}.other`])
    .filter((key) => parts.has(key));
  expect(needed.filter((key) => !loaded.includes(parts.get(key)!))).toEqual([]);
});
