/** Slots in templates. */

import type { components } from "#lib/api/schema.d.ts";

export type TemplateFinding = components["schemas"]["TemplateFinding"];

/** A slot that something fills. */
export interface Slot {
  name: string;
  /** What fills it. */
  title: string;
}

const NAME = "(?=[0-9_]*[A-Za-z])[A-Za-z0-9_]{1,63}";
/** Matches slots, and names in double braces, which are text. */
const HEDDLE = `\\{\\{${NAME}\\}\\}|\\{(${NAME})\\}`;

/** Return what matches the slots of a template as the server finds them. The first group is the name.
 *
 * Args:
 *   known: The slots of a template in LAMB's syntax, all else of which is text. Null selects Heddle's.
 */
export const slotPattern = (known: readonly string[] | null): RegExp =>
  new RegExp(known ? `\\{(${known.map((name) => name.replace(/\W/g, "\\$&")).join("|")})\\}` : HEDDLE, "g");

export const slotsOf = (template: string, pattern: RegExp): Set<string> =>
  new Set([...template.matchAll(pattern)].flatMap(([, name]) => name ?? []));

/** Return the UTF-16 offsets of positions that count Unicode code points. */
export function offsets(text: string, positions: readonly number[]): Map<number, number> {
  const found = new Map<number, number>();
  let offset = 0;
  let count = 0;
  for (const position of [...positions].sort((one, other) => one - other)) {
    while (count < position && offset < text.length) {
      offset += text.codePointAt(offset)! > 0xffff ? 2 : 1;
      count += 1;
    }
    found.set(position, offset);
  }
  return found;
}
