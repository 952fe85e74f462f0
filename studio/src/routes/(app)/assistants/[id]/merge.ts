/** Brings together two edits of an assistant, field by field. Pure functions. */

import { type Assistant, type Binding, FIXED, same } from "./assistant.ts";

export type Side = "mine" | "theirs";

/** A field that the two edits do not agree about. */
export interface Difference {
  /** Members from the outside to the inside; the second one of a tool is its id. */
  path: readonly string[];
  mine: unknown;
  theirs: unknown;
  /** Who changed it. */
  by: Side | "both";
}

export const keyOf = (path: readonly string[]): string => path.join("\n");

type Tree = Record<string, unknown>;
/** Values that only make sense as a whole. */
const WHOLE = new Set(["model", "extra"]);
const NEW = "new ";

/** Return the fields in which two edits of an assistant differ, those that both changed first. */
export function differences(base: Assistant, mine: Assistant, theirs: Assistant): Difference[] {
  const found: Difference[] = [];
  combine([], tree(base), tree(mine), tree(theirs), (difference) => {
    found.push(difference);
    return "mine";
  });
  return found.sort((one, other) => Number(other.by === "both") - Number(one.by === "both"));
}

/** Return the assistant with the chosen side of each field; without a choice, the side that changed it. */
export function merge(
  base: Assistant,
  mine: Assistant,
  theirs: Assistant,
  choices: ReadonlyMap<string, Side>,
): Assistant {
  const choose = ({ path, by }: Difference): Side =>
    choices.get(keyOf(path)) ?? (by === "theirs" ? "theirs" : "mine");
  const merged = combine([], tree(base), tree(mine), tree(theirs), choose) as Tree;
  const tools = merged["tools"] as Record<string, Binding | undefined>;
  const [first, second] = same(ids(base), ids(mine)) ? [theirs, mine] : [mine, theirs];
  const order = [...new Set([...ids(first), ...ids(second)])];
  // What other routes change is always theirs.
  return { ...theirs, ...merged, tools: order.flatMap((id) => tools[id] ?? []) } as Assistant;
}

function combine(
  path: readonly string[],
  base: unknown,
  mine: unknown,
  theirs: unknown,
  choose: (difference: Difference) => Side,
): unknown {
  if (same(mine, theirs)) return mine;
  if (isTree(mine) && isTree(theirs) && !WHOLE.has(path[0] ?? "")) {
    const merged: Tree = {};
    const before = isTree(base) ? base : {};
    for (const name of new Set([...Object.keys(mine), ...Object.keys(theirs)])) {
      const value = combine([...path, name], before[name], mine[name], theirs[name], choose);
      if (value !== undefined) merged[name] = value;
    }
    return merged;
  }
  const by = same(base, theirs) ? "mine" : same(base, mine) ? "theirs" : "both";
  return choose({ path, mine, theirs, by }) === "mine" ? mine : theirs;
}

const isTree = (value: unknown): value is Tree =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const ids = (assistant: Assistant): string[] =>
  assistant.tools.map(({ id }, index) => (id === null || id === undefined ? NEW + index : String(id)));

/** Return the members that an edit changes, with the tools by their ids. */
function tree(assistant: Assistant): Tree {
  const { tools, ...all } = assistant;
  const members = Object.fromEntries(Object.entries(all).filter(([name]) => !FIXED.has(name)));
  const names = ids(assistant);
  return { ...members, tools: Object.fromEntries(tools.map((each, index) => [names[index], each])) };
}
