/** The texts of a prompt, cut where slots begin and end. */

import type { Trace } from "#lib/answers/answer.ts";

/** A piece of a text; `slot` is the position of the slot that brought it, null for the template's. */
export interface Segment {
  text: string;
  slot: number | null;
}

/** Return the pieces of each part of each message of the prompt: `[message][part][piece]`.
 *
 * Ranges count code points, texts of JavaScript count UTF-16 units.
 */
export function segments({ prompt, slots }: Trace): Segment[][][] {
  const ranges = slots.flatMap(({ ranges }, slot) => ranges.map((range) => ({ ...range, slot })));
  return prompt.map(({ parts }, message) =>
    parts.map((text, part) => {
      const here = ranges
        .filter((each) => each.message === message && each.part === part)
        .sort((one, other) => one.start - other.start);
      return cut(text, here);
    }),
  );
}

function cut(text: string, ranges: readonly { start: number; end: number; slot: number }[]): Segment[] {
  const pieces: Segment[] = [];
  const at = offsets(
    text,
    ranges.flatMap(({ start, end }) => [start, end]),
  );
  let done = 0;
  for (const { start, end, slot } of ranges) {
    const [from, to] = [at.get(start) ?? done, at.get(end) ?? done];
    if (from < done || to <= from) continue;
    if (from > done) pieces.push({ text: text.slice(done, from), slot: null });
    pieces.push({ text: text.slice(from, to), slot });
    done = to;
  }
  if (done < text.length) pieces.push({ text: text.slice(done), slot: null });
  return pieces;
}

/** Return the positions in UTF-16 units of positions in code points, in one pass. */
function offsets(text: string, points: readonly number[]): Map<number, number> {
  const wanted = [...new Set(points)].sort((one, other) => one - other);
  const found = new Map<number, number>();
  let [point, unit] = [0, 0];
  for (const next of wanted) {
    for (; point < next && unit < text.length; point++) unit += text.codePointAt(unit)! > 0xffff ? 2 : 1;
    found.set(next, unit);
  }
  return found;
}
