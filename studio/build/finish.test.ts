import { expect, test } from "vitest";

import { extractScript } from "./finish.ts";

test("the inline script moves into a file that is named after its content", () => {
  const { page, script, path } = extractScript("<body><script>start('$&');</script></body>");
  expect(script).toBe("start('$&');");
  expect(path).toMatch(/^_app\/immutable\/start-[0-9a-f]{12}\.js$/);
  expect(page).toBe(`<body><script src="/studio/${path}" defer></script></body>`);
});

test.each(["<body></body>", "<script>a</script><script>b</script>"])(
  "a page without exactly one fails",
  (page) => {
    expect(() => extractScript(page)).toThrow("inline scripts instead of one");
  },
);
