/** Which texts a screen needs beside those of `shell`. */

export type Part = "assistants" | "connect" | "knowledge" | "models" | "operations" | "rubrics";
const PARTS: Readonly<Record<string, readonly Part[]>> = {
  assistants: ["assistants", "models"],
  gallery: ["assistants", "models"],
  knowledge: ["knowledge", "models"],
  models: ["connect", "operations"],
  rubrics: ["rubrics"],
  start: ["assistants", "knowledge", "models"],
  tools: ["assistants"],
};

/** Return the parts for a route such as `/(app)/knowledge/[id]`. The first screen needs none. */
export function partsOf(route: string | null): readonly Part[] {
  const screen = route?.split("/")[2];
  return screen ? (PARTS[screen] ?? ["operations"]) : [];
}
