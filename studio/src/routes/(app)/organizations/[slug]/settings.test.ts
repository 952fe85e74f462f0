import { expect, test } from "vitest";

import {
  modelText,
  modelValue,
  nameOf,
  numberText,
  objectAt,
  otherSettings,
  setNumber,
  textAt,
  withOthers,
  withPin,
} from "./settings.ts";

test("members are changed where they are", () => {
  const settings = { setups: { default: { providers: { openai: { api_key: "********" } }, theme: 1 } } };
  const providers = objectAt(settings, "providers");
  providers["anthropic"] = { api_key: "new" };
  const moodle = objectAt(settings, "moodle");
  moodle["url"] = "https://moodle.example";
  const others = otherSettings(settings);
  expect(others).toEqual({ setups: { default: { theme: 1 } } });
  expect(withOthers(settings, others)).toEqual({
    moodle: { url: "https://moodle.example" },
    setups: {
      default: { providers: { openai: { api_key: "********" }, anthropic: { api_key: "new" } }, theme: 1 },
    },
  });
});

test("empty members with fields are not sent, others are", () => {
  const settings = { moodle: { url: "" }, output_hosts: "", extra: "" };
  expect(withOthers(settings, otherSettings(settings))).toEqual({ extra: "" });
});

test("an edited number is a number, is missing without text, and stays a text if it is none", () => {
  const settings = { retention: {} as Record<string, unknown> };
  setNumber(settings.retention, "uploads_days", " 30 ");
  setNumber(settings.retention, "images_days", "1x");
  expect(withOthers(settings, {})).toEqual({ retention: { uploads_days: 30, images_days: "1x" } });
  expect(
    ["uploads_days", "images_days", "usage_days"].map((it) => numberText(settings.retention, it)),
  ).toEqual(["30", "1x", ""]);
  setNumber(settings.retention, "uploads_days", " ");
  setNumber(settings.retention, "images_days", "");
  expect(withOthers(settings, {})).toEqual({});
});

test("models are texts or objects", () => {
  expect(modelText({ provider: "openai", model: "a/b" })).toBe("openai/a/b");
  expect(modelText("openai/a")).toBe("openai/a");
  expect(modelText(5)).toBe("");
  expect(modelValue("openai/a/b")).toEqual({ provider: "openai", model: "a/b" });
  expect(modelValue(" ")).toBeNull();
});

test("a member keeps the name that it has", () => {
  expect(nameOf({ url: "x" }, "server_url", "url")).toBe("url");
  expect(nameOf({}, "server_url", "url")).toBe("server_url");
  expect(textAt({ a: 5 }, "a")).toBe("");
});

test("a pin is stored where the server is, and removed there", () => {
  const lib = { url: "https://lib/mcp", token: "********", pins: { old: "sha256:1" } };
  const settings = { setups: { default: { mcp_servers: { lib } } }, mcp_servers: { other: { url: "x" } } };
  const server = { name: "lib", url: lib.url };
  const pinned = withPin(settings, server, "find", "sha256:2");
  expect(pinned).toEqual({
    ...settings,
    setups: { default: { mcp_servers: { lib: { ...lib, pins: { old: "sha256:1", find: "sha256:2" } } } } },
  });
  expect(withPin(pinned ?? {}, server, "find", "")).toEqual(settings);
  expect(settings.setups.default.mcp_servers.lib).toEqual(lib);
});

test("no pin is stored for a server that was moved or removed", () => {
  const settings = { mcp_servers: { lib: { url: "https://new/mcp" } } };
  expect(withPin(settings, { name: "lib", url: "https://lib/mcp" }, "find", "sha256:2")).toBeNull();
  expect(withPin({}, { name: "lib", url: "https://lib/mcp" }, "find", "sha256:2")).toBeNull();
});
