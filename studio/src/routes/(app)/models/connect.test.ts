import { expect, test } from "vitest";

import {
  chosenModel,
  DEFAULT_MODEL,
  entryOf,
  firstModel,
  providersOf,
  SMALL_MODEL,
  sourceOf,
  storedProvider,
  withModel,
  withoutProvider,
  withProvider,
} from "./connect.ts";

const ENTRY = { address: " https://models.example/v1 ", key: "k", models: "", enabled: true };
const connector = (name: string, members: object = {}): never =>
  ({ name, settings: ["api_key"], settings_source: null, models: [], ...members }) as never;

test("what an organisation can set up has a card, the common providers first", () => {
  const installed = ["anthropic", "default", "ollama", "other", "openai"].map((name) =>
    connector(name, { settings: name === "default" ? [] : ["api_key"] }),
  );
  const names = providersOf(installed).map(({ name }) => name);
  expect(names).toEqual(["openai", "anthropic", "ollama", "other"]);
});

test("the first provider gives the organisation its default model, later ones do not change it", () => {
  const first = withProvider({}, "openai", ENTRY, ["text-embedding-3", "gpt-x", "gpt-y"]);
  expect(first["providers"]).toEqual({
    openai: { base_url: "https://models.example/v1", api_key: "k", enabled: true },
  });
  expect(chosenModel(first, DEFAULT_MODEL)).toBe("openai/gpt-x");
  const second = withProvider(first, "anthropic", { ...ENTRY, models: "claude\n" }, []);
  expect(chosenModel(second, DEFAULT_MODEL)).toBe("openai/gpt-x");
  expect(storedProvider(second, "anthropic")!["models"]).toEqual(["claude"]);
});

test("a provider stays where LAMB has put it, with what has no field", () => {
  const settings = {
    setups: { default: { providers: { openai: { endpoint: "https://old.example", extra: 1 } } } },
  };
  expect(entryOf(storedProvider(settings, "openai"))).toMatchObject({ address: "https://old.example" });
  const changed = withProvider(settings, "openai", ENTRY, []);
  expect(changed["setups"]).toEqual({
    default: {
      providers: {
        openai: { endpoint: "https://models.example/v1", api_key: "k", extra: 1, enabled: true },
      },
    },
  });
  const google = { providers: { google: { api_key: "********" } } };
  expect(storedProvider(google, "banana_img")).toEqual({ api_key: "********" });
  expect(withoutProvider(google, "banana_img")["providers"]).toEqual({});
});

test("a removed provider takes the choice of its models with it", () => {
  const settings = withModel(withProvider({}, "openai", ENTRY, ["m"]), SMALL_MODEL, "ollama/tiny");
  const without = withoutProvider(settings, "openai");
  expect(chosenModel(without, DEFAULT_MODEL)).toBe("");
  expect(chosenModel(without, SMALL_MODEL)).toBe("ollama/tiny");
  expect(chosenModel(withModel(without, SMALL_MODEL, ""), SMALL_MODEL)).toBe("");
});

test("the source of settings is told only of one's own organisation", () => {
  const environment = connector("openai", { settings_source: "environment" });
  const ollama = connector("ollama", { models: [{}], settings: ["base_url"] });
  expect(sourceOf(environment, null, true)).toBe("environment");
  expect(sourceOf(environment, {}, true)).toBe("organization");
  expect(sourceOf(environment, null, false)).toBe(null);
  expect(sourceOf(ollama, null, true)).toBe("found");
  expect(sourceOf(connector("openai", { models: [{}] }), null, true)).toBe(null);
});

test("a model that answers is preferred", () => {
  expect(firstModel(["whisper-1", "bge-m3"])).toBe("whisper-1");
  expect(firstModel([])).toBe("");
});
