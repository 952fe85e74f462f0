import { expect, it } from "vitest";

import { choicesOf, type Connector } from "./models.ts";

const connector = (name: string, members: object = {}): Connector =>
  ({ name, available: true, models: [{ id: "m", title: name, reads: [] }], ...members }) as never;

it("offers a provider's model first, the embedded one then, and those that show prompts last", () => {
  const choices = choicesOf([
    connector("bypass", { debugging: true }),
    connector("local"),
    connector("openai"),
    connector("down", { available: false }),
    connector("painter", { generates_images: true }),
  ]);
  expect(choices.map(({ title }) => title)).toEqual(["openai", "local", "bypass"]);
  expect(choices.map(({ debugging }) => debugging)).toEqual([undefined, undefined, true]);
});
