/** Each screen has a page of the documentation, and the page exists. */

import { existsSync } from "node:fs";
import { expect, test } from "vitest";

import { helpOf } from "./help.ts";

const screens = Object.keys(import.meta.glob("../routes/**/+page.svelte")).map((path) =>
  path.replace("../routes", "").replace("/+page.svelte", ""),
);

test.each(screens)("%s leads to a page that exists", (route) => {
  const page = helpOf(route).replace(/^\/docs\/(.+)\.html$/, "$1");
  expect(existsSync(new URL(`../../../docs/${page}.md`, import.meta.url)), page).toBe(true);
});
