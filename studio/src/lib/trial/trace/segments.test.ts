import { expect, test } from "vitest";

import type { Trace } from "#lib/answers/answer.ts";
import { segments } from "./segments.ts";

const trace = (text: string, ranges: [number, number][]): Trace => ({
  has_texts: true,
  steps: [],
  slots: ranges.map(([start, end]) => ({
    slot: "context",
    text: "",
    text_cut: false,
    step: null,
    tool: null,
    ranges: [{ message: 0, part: 0, start, end }],
  })),
  prompt: [{ role: "user", parts: [text], tool_calls: [], tool_call_id: null }],
});
const pieces = (text: string, ranges: [number, number][]): [string, number | null][] =>
  segments(trace(text, ranges))[0]![0]!.map(({ text, slot }) => [text, slot]);

test("a text is cut where slots begin and end, in the order of the text", () => {
  expect(
    pieces("Read A and B.", [
      [11, 12],
      [5, 6],
    ]),
  ).toEqual([
    ["Read ", null],
    ["A", 1],
    [" and ", null],
    ["B", 0],
    [".", null],
  ]);
});

test("ranges count code points", () => {
  expect(pieces("🧵🧵 warp 🧶", [[3, 7]])).toEqual([
    ["🧵🧵 ", null],
    ["warp", 0],
    [" 🧶", null],
  ]);
});

test("no character is lost, whatever the ranges are", () => {
  for (const ranges of [
    [],
    [[0, 99]],
    [[2, 2]],
    [
      [0, 4],
      [2, 6],
    ],
    [[50, 60]],
  ] as [number, number][][]) {
    expect(
      pieces("weft and warp", ranges)
        .map(([text]) => text)
        .join(""),
    ).toBe("weft and warp");
  }
});
