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
const here = (path: string): string => new URL(path, "file:///lib/i18n/").pathname;
const sources = Object.fromEntries(
  Object.entries(
    import.meta.glob<string>(["../**/*.{ts,svelte}", "../../routes/**/*.{ts,svelte}", "!**/*.test.ts"], {
      query: "?raw",
      import: "default",
      eager: true,
    }),
  ).map(([path, code]) => [here(path), code]),
);
const program = Object.values(sources).join("\n");

/** Return the source files that one imports, at once or when they are needed. */
function imported(path: string): string[] {
  const code = sources[path]!.replace(/import type [^;]*;/g, "");
  return [...code.matchAll(/(?:from|import)\s*\(?\s*"([#.][^"]+)"/g)]
    .map(([, name]) => new URL(name!.replace("#lib/", "/lib/"), `file://${path}`).pathname)
    .filter((each) => each in sources);
}

/** Return the texts that a source shows. */
function shown(code: string): string[] {
  const beginnings = [...code.matchAll(/`([\w.]+\.)\$\{/g)].map(([, beginning]) => beginning!);
  const names = [...code.matchAll(/["`]([a-zA-Z]+(?:\.[a-zA-Z]+)*)["`]/g)].map(([, name]) => name!);
  return [
    ...names.flatMap((name) => [name, `${name}.other`]).filter((key) => parts.has(key)),
    ...[...parts.keys()].filter((key) => beginnings.some((each) => key.startsWith(each))),
  ];
}

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

const screens = Object.keys(sources).filter((path) => path.endsWith("/+page.svelte"));

test.each(screens)("%s loads the texts that it shows, and no others", (path) => {
  const reached = new Set([path]);
  for (const each of reached) for (const next of imported(each)) reached.add(next);
  const code = [...reached].map((each) => sources[each]!);
  const later = code.flatMap((each) => [...each.matchAll(/speakOf\(\[([^\]]+)\]/g)]);
  const route = /routes(\/.*)\/[^/]+$/.exec(path)?.[1] ?? null;
  const loaded = new Set([...partsOf(route), ...later.flatMap(([, list]) => list!.match(/\w+/g)!)]);
  const needed = new Set(code.flatMap(shown).map((key) => parts.get(key)!));
  needed.delete("shell");
  expect([...loaded].sort()).toEqual([...needed].sort());
});
