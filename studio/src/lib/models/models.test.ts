import { expect, it } from "vitest";

import { choicesOf, type Connector } from "./models.ts";

const connector = (name: string, members: object = {}): Connector =>
  ({
    name,
    available: true,
    debugging: false,
    models: [{ id: "m", title: name, reads: [] }],
    ...members,
  }) as never;

it("offers the default model first, then a provider's, the embedded one, and those that show prompts", () => {
  const choices = choicesOf([
    connector("bypass", { debugging: true }),
    connector("anthropic"),
    connector("default"),
    connector("local"),
    connector("openai"),
    connector("down", { available: false }),
    connector("painter", { generates_images: true }),
  ]);
  expect(choices.map(({ title }) => title)).toEqual(["default", "anthropic", "openai", "local", "bypass"]);
  expect(choices.map(({ debugging }) => debugging)).toEqual([false, false, false, false, true]);
});
