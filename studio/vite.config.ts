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

const FIRST_SCREEN = ["+layout.ts", "(app)/+layout.svelte", "(app)/+layout.ts", "(app)/+page.svelte"].map(
  (name) => `${import.meta.dirname}/src/routes/${name}`,
);
type Module = { importedIds: string[] } | null;

/** Return a function that tells whether the first screen imports a module of the studio or an icon. */
function inFirstScreen(): (id: string, module: (id: string) => Module) => boolean {
  const found = new Set<string>();
  return (id, module) => {
    const waiting = found.size === 0 ? [...FIRST_SCREEN] : [];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (found.has(next)) continue;
      found.add(next);
      waiting.push(...(module(next)?.importedIds ?? []));
    }
    return found.has(id) && /\/src\/lib\/|@lucide/.test(id);
  };
}
const isFirst = inFirstScreen();

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
                // SvelteKit's start loads these two, and the rest once it has said which version the studio has.
                { name: "start", test: /vite\/preload-helper|client\/payload\.js$/, priority: 2 },
                {
                  // Without it, the first screen loads the icons of all others, in forty files.
                  name: (id, context) =>
                    isFirst(id, (each) => context.getModuleInfo(each)) ? "first" : null,
                  priority: 1,
                },
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
