import { describe, expect, it } from "vitest";

import type { Assistant } from "./assistant.ts";
import { differences, keyOf, merge } from "./merge.ts";

const BASE = {
  id: "1",
  name: "tutor",
  title: "Tutor",
  published: false,
  prompt_template: "{user_input}",
  model: { connector: "bypass", model: "simple-bypass" },
  capabilities: { vision: false, image_generation: false },
  tools: [
    { id: "a", type: "rubric", config: { rubric_id: 1, format: "markdown" } },
    { id: "b", type: "weather", mode: "function" },
  ],
  extra: { course: 7 },
} as unknown as Assistant;
const edited = (edit: (assistant: Assistant) => void): Assistant => {
  const assistant = structuredClone(BASE);
  edit(assistant);
  return assistant;
};
const paths = (mine: Assistant, theirs: Assistant): [string, string][] =>
  differences(BASE, mine, theirs).map(({ path, by }) => [path.join("."), by]);
const NONE = new Map<string, "mine" | "theirs">();

describe("two edits of an assistant", () => {
  it("differ in the fields that one or both changed, conflicts first", () => {
    const mine = edited((it) => {
      it.title = "Mine";
      it.tools[0]!.config = { rubric_id: 2, format: "markdown" };
      it.prompt_template = "mine";
    });
    const theirs = edited((it) => {
      it.prompt_template = "theirs";
      it.tools[0]!.config = { rubric_id: 1, format: "json" };
    });
    expect(paths(mine, theirs)).toEqual([
      ["prompt_template", "both"],
      ["title", "mine"],
      ["tools.a.config.rubric_id", "mine"],
      ["tools.a.config.format", "theirs"],
    ]);
  });

  it("are merged so that nothing is lost that only one of them changed", () => {
    const mine = edited((it) => {
      it.title = "Mine";
      it.tools.push({ type: "word_count" });
      it.tools[0]!.config = { rubric_id: 2, format: "markdown" };
    });
    const theirs = edited((it) => {
      it.name = "theirs";
      it.published = true;
      it.tools[0]!.config = { rubric_id: 1, format: "json" };
      it.tools.splice(1, 1);
    });
    const merged = merge(BASE, mine, theirs, NONE);
    expect([merged.title, merged.name, merged.published]).toEqual(["Mine", "theirs", true]);
    expect(merged.tools).toEqual([
      { id: "a", type: "rubric", config: { rubric_id: 2, format: "json" } },
      { type: "word_count" },
    ]);
  });

  it("have the chosen side of a field that both changed", () => {
    const mine = edited((it) => (it.title = "Mine"));
    const theirs = edited((it) => (it.title = "Theirs"));
    expect(merge(BASE, mine, theirs, NONE).title).toBe("Mine");
    const chosen = new Map([[keyOf(["title"]), "theirs" as const]]);
    expect(merge(BASE, mine, theirs, chosen).title).toBe("Theirs");
  });

  it("keep connector and model together", () => {
    const mine = edited((it) => (it.model = { connector: "openai", model: "gpt-x" }));
    const theirs = edited((it) => (it.model = { connector: "bypass", model: "debug-bypass" }));
    expect(paths(mine, theirs)).toEqual([["model", "both"]]);
  });

  it("have the order of the tools of the side that changed it", () => {
    const theirs = edited((it) => it.tools.reverse());
    expect(
      merge(
        BASE,
        edited(() => {}),
        theirs,
        NONE,
      ).tools.map(({ id }) => id),
    ).toEqual(["b", "a"]);
    expect(
      merge(
        BASE,
        theirs,
        edited(() => {}),
        NONE,
      ).tools.map(({ id }) => id),
    ).toEqual(["b", "a"]);
  });
});
