import adapter from "@sveltejs/adapter-static";
import { sveltekit } from "@sveltejs/kit/vite";
import tailwindcss from "@tailwindcss/vite";
import { defineConfig } from "vitest/config";

const OUTPUT = "../gateway/src/heddle_gateway/studio";

export default defineConfig({
  plugins: [
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
  test: { include: ["src/**/*.test.ts", "build/**/*.test.ts"] },
});
