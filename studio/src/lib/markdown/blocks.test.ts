import { expect, test } from "vitest";

import { Blocks, marked } from "./blocks.ts";

const TEXT = `# A title

A paragraph with $E = mc^2$, \\(a_1\\) and **bold**
in two lines.

- one
- two

  still two
- [x] done

| a | b |
|:--|--:|
| 1 | 2 |

\`\`\`python
print("$5")

x = 1
\`\`\`

$$
\\int_0^1 x

dx
$$

> quoted

End\\[y\\] with $5 and $6.
`;
const html = (reader: Blocks, text: string, growing: boolean): string =>
  reader
    .read(text, growing)
    .map(({ tokens }) => marked.parser([...tokens]))
    .join("");

test.each([1, 3, 7, 20])("a text that grows by %i characters ends as the whole text", (step) => {
  const reader = new Blocks();
  for (let at = step; at < TEXT.length; at += step) reader.read(TEXT.slice(0, at), true);
  expect(html(reader, TEXT, false)).toBe(html(new Blocks(), TEXT, false));
});

test("blocks before the last one stay the same objects", () => {
  const reader = new Blocks();
  const before = reader.read("One.\n\nTwo.\n\nThr", true);
  const after = reader.read("One.\n\nTwo.\n\nThree", true);
  expect(after.slice(0, 2).map((block, index) => block === before[index])).toEqual([true, true]);
  expect(after.map(({ settled }) => settled)).toEqual([true, true, false]);
});

test("a reference at the end counts for the whole text", () => {
  const reader = new Blocks();
  reader.read("See [it].\n\nMore.\n\n", true);
  expect(html(reader, "See [it].\n\nMore.\n\n[it]: https://example.org\n", false)).toContain(
    'href="https://example.org"',
  );
});

test.each([
  ["$E = mc^2$", ["inline E = mc^2"]],
  ["\\(a < b\\)", ["inline a &lt; b"]],
  ["a \\[x\\] b", ["display x"]],
  ["$$x$$", ["display x"]],
  ["It costs $5 and $6.", []],
  ["$ x $ and $x", []],
  ["`$x$`", []],
  ["\\$x$", []],
  ["$a\\$b$", ["inline a\\$b"]],
])("%s has the formulas %j", (text, formulas) => {
  const found = [...html(new Blocks(), text, false).matchAll(/data-math="(\w+)">([^]*?)<\/code>/g)];
  expect(found.map(([, kind, tex]) => `${kind} ${tex}`)).toEqual(formulas);
});

test("task lists, alignment and languages are kept without controls", () => {
  const result = html(new Blocks(), TEXT, false);
  expect(result).toContain("☑");
  expect(result).not.toContain("<input");
  expect(result).toContain('<td align="right">2</td>');
  expect(result).toContain('data-language="python"');
});
