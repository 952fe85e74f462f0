import { expect, it } from "vitest";

import type { Assistant, Binding } from "./assistant.ts";
import type { Catalog } from "./catalog.ts";
import { addTool, changeTools, hiddenSettings, knowledgeOf, neededSchema, setCollections } from "./simple.ts";

const picker = { title: "Collections", "x-heddle-input": "collections" };
const tool = (name: string, slot: string, modes: string[], schema: object = {}): object => ({
  name,
  title: name,
  default_slot: slot,
  modes,
  connectors: null,
  config_schema: schema,
});
const SEARCH = {
  properties: { collections: picker, top_k: { title: "Passages" } },
  required: ["collections"],
};
const CATALOG = {
  tools: [
    tool("simple_rag", "context", ["augment", "function"], SEARCH),
    tool("rubric", "rubric", ["augment"], { properties: { rubric_id: {} }, required: ["rubric_id"] }),
    tool("web_search", "web", ["augment", "function"]),
  ],
  connectors: [],
  strategies: [],
  processors: [],
} as unknown as Catalog;
const assistant = (members: object = {}): Assistant =>
  ({
    ...{ description: "", prompt_template: "", strategy: "", prompt_processor: "", empty_response: "" },
    ...{ output_hosts: "", verbose: false, cite_sources: false, max_tool_rounds: 0 },
    capabilities: { vision: false, image_generation: false },
    model: { connector: "c", model: "m" },
    tools: [] as Binding[],
    ...members,
  }) as Assistant;
const [, RUBRIC, WEB] = CATALOG.tools;

it("makes the prompt of the tools, in the language in which it was made", () => {
  const made = assistant();
  const change = (how: () => void): void => changeTools(made, CATALOG, "es", how);
  change(() => setCollections(made, ["vs_1"]));
  expect(made.prompt_template).toBe("Texto: {context}\nCon este texto, responde: {user_input}");
  expect(made.cite_sources).toBe(true);
  changeTools(made, CATALOG, "en", () => addTool(made, RUBRIC!, CATALOG));
  expect(made.prompt_template).toBe("Texto: {context}\n{rubric}\nCon este texto, responde: {user_input}");
  change(() => addTool(made, WEB!, CATALOG));
  expect(made.tools.map(({ mode }) => mode)).toEqual(["augment", "augment", "function"]);
  expect(made.prompt_template).not.toContain("{web}");
  change(() => setCollections(made, undefined));
  expect(made.prompt_template).toBe("{rubric}\n\n{user_input}");
});

it("leaves a prompt that a person wrote, and the other settings of the search", () => {
  const config = { collections: ["vs_1"], top_k: 3 };
  const made = assistant({ prompt_template: "Mine: {context}", tools: [{ type: "simple_rag", config }] });
  changeTools(made, CATALOG, "en", () => setCollections(made, ["vs_2"]));
  expect(made.prompt_template).toBe("Mine: {context}");
  expect(made.tools[0]!.config).toEqual({ collections: ["vs_2"], top_k: 3 });
});

it("shows what a search of another kind knows, unless it is offered as something to do", () => {
  const config = { collections: ["vs_1"] };
  const search = { type: "retrieve_documents", config };
  const figures = { type: "colqwen_search", config };
  expect(knowledgeOf(assistant({ tools: [figures, search] }))).toBe(search);
  expect(knowledgeOf(assistant({ tools: [search, { type: "simple_rag", config }] }))!.type).toBe(
    "simple_rag",
  );
  expect(knowledgeOf(assistant({ tools: [figures] }))).toBeUndefined();
});

it("tells what only the advanced level shows", () => {
  expect(hiddenSettings(assistant(), CATALOG)).toEqual([]);
  const made = assistant();
  changeTools(made, CATALOG, "eu", () => setCollections(made, ["vs_1"]));
  expect(hiddenSettings(made, CATALOG)).toEqual([]);
  const other = assistant({
    ...{ description: "d", prompt_template: "p", template_syntax: "lamb", strategy: "agent" },
    ...{ max_tool_rounds: 2, empty_response: "e", output_hosts: "none", verbose: true, cite_sources: true },
    prompt_processor: "moodle_augment",
    capabilities: { vision: true, image_generation: true },
    tools: [
      { type: "rubric", enabled: false, timeout: 3, on_failure: "omit", on_change: "ask", config: { a: 1 } },
    ],
  });
  expect(hiddenSettings(other, CATALOG)).toHaveLength(12 + 5);
  const members = new Set(hiddenSettings(other, CATALOG));
  expect(members).toContain("tools[0].config.a");
  expect(members).toContain("tools[0].enabled");
});

it("shows of a tool what it needs", () => {
  const [search, , web] = CATALOG.tools;
  expect(neededSchema(search!)).toMatchObject({ properties: { collections: picker } });
  expect(Object.keys(neededSchema(search!)!["properties"] as object)).toEqual(["collections"]);
  expect(neededSchema(web!)).toBeNull();
});
