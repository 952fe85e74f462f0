import { expect, it } from "vitest";

import type { Assistant } from "./assistant.ts";
import type { Tool } from "#lib/tools.ts";
import type { Catalog } from "./catalog.ts";
import { lambSlots, possibleModes, slotsFor } from "./offers.ts";

const SEARCH = {
  name: "search",
  title: "Search",
  default_slot: "context",
  modes: ["augment", "function", "agent"],
  connectors: { augment: ["plain", "calling"], function: ["calling"], agent: ["plain", "calling"] },
  config_schema: { "x-heddle-i18n": { eu: { title: "Bilaketa" } } },
} as unknown as Tool;
const CATALOG = {
  tools: [SEARCH],
  connectors: [],
  strategies: [
    { name: "parallel", runs_agent_tools: false },
    { name: "agent", runs_agent_tools: true },
  ],
  processors: [{ name: "moodle_augment", slots: ["moodle_user"] }],
} as unknown as Catalog;
const assistant = (connector: string, members: object = {}): Assistant =>
  ({ model: { connector, model: "m" }, strategy: "", prompt_processor: "", tools: [], ...members }) as never;

it("offers the modes that the connector and the strategy can use", () => {
  expect(possibleModes(SEARCH, assistant("plain"), CATALOG)).toEqual(["augment"]);
  expect(possibleModes(SEARCH, assistant("calling"), CATALOG)).toEqual(["augment", "function"]);
  const agent = assistant("plain", { strategy: "agent" });
  expect(possibleModes(SEARCH, agent, CATALOG)).toEqual(["augment", "agent"]);
});

it("offers all modes while the connectors are not known", () => {
  const tool = { ...SEARCH, connectors: null };
  expect(possibleModes(tool, assistant("plain", { strategy: "agent" }), CATALOG)).toEqual(SEARCH.modes);
});

it("names the slots that something fills, once", () => {
  const tools = [
    { type: "search" },
    { type: "search", slot: "more" },
    { type: "search" },
    { type: "search", slot: "off", enabled: false },
    { type: "search", slot: "called", mode: "function" },
    { type: "gone", slot: "gone" },
  ];
  const made = assistant("plain", { tools, prompt_processor: "moodle_augment" });
  expect(slotsFor(made, CATALOG, "eu", "Galdera")).toEqual([
    { name: "user_input", title: "Galdera" },
    { name: "context", title: "Bilaketa, Bilaketa" },
    { name: "more", title: "Bilaketa" },
    { name: "gone", title: "gone" },
    { name: "moodle_user", title: "moodle_augment" },
  ]);
});

it("knows the slots of all tools in LAMB's syntax, also before the catalogue is there", () => {
  const tools = [
    { type: "search", enabled: false },
    { type: "search", slot: "called", mode: "function" },
  ];
  const of = assistant("plain", { tools, prompt_processor: "moodle_augment" });
  expect(lambSlots(of, CATALOG)).toEqual(["user_input", "context", "called", "moodle_user"]);
  expect(lambSlots(of, null)).toEqual(["user_input", "context", "search", "called"]);
});
