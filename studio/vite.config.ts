import adapter from "@sveltejs/adapter-static";
import { sveltekit } from "@sveltejs/kit/vite";
import tailwindcss from "@tailwindcss/vite";
import { defineConfig, type Plugin } from "vitest/config";

const OUTPUT = "../gateway/src/heddle_gateway/studio";

/** Leaves out the style attribute of SvelteKit's announcer, which the policy blocks: app.css has it. */
const withoutAnnouncerStyle: Plugin = {
  name: "without-announcer-style",
  enforce: "pre",
  transform: {
    filter: { id: /runtime\/components\/root\.svelte$/ },
    handler: (code) => ({
      code: code.replace(/(id="svelte-announcer"[^>]*?)\sstyle="[^"]*"/, "$1"),
      map: null,
    }),
  },
};

export default defineConfig({
  plugins: [
    withoutAnnouncerStyle,
    tailwindcss(),
    sveltekit({
      // Not index.html, which adapters reserve for a prerendered page.
      adapter: adapter({ pages: OUTPUT, fallback: "shell.html", precompress: false }),
      paths: { base: "/studio", relative: false },
      compilerOptions: { runes: true },
    }),
  ],
  // The data of a file cannot be a stylesheet or a script under the content security policy.
  build: { assetsInlineLimit: 0, chunkSizeWarningLimit: 600 },
  environments: {
    client: {
      build: {
        rolldownOptions: {
          output: {
            codeSplitting: {
              // A file for each icon and small component compresses badly, so what nearly the same screens share is one.
              groups: [
                {
                  name: "shared",
                  test: /@lucide/,
                  entriesAware: true,
                  entriesAwareMergeThreshold: 60_000,
                  minShareCount: 2,
                },
              ],
            },
          },
        },
      },
    },
  },
  test: { include: ["src/**/*.test.ts", "build/**/*.test.ts"] },
});
