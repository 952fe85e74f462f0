/** Finishes the built pages: moves the inline script into a file, and compresses the files.
 *
 * The content security policy allows scripts of files only.
 */

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const BASE = "/studio";
const FOLDER = new URL("../../gateway/src/heddle_gateway/studio/", import.meta.url).pathname;
const TEXT = /\.(html|js|css|svg|json)$/;
const MIN_COMPRESSED_BYTES = 512;

/** Return a page without its inline script, and the script.
 *
 * Throws Error: The page does not have exactly one.
 */
export function extractScript(page: string): { page: string; script: string; path: string } {
  const scripts = [...page.matchAll(/<script(?:\s[^>]*)?>([\s\S]*?)<\/script>/g)];
  const inline = scripts.filter(([element]) => !/^<script[^>]*\ssrc=/.test(element));
  if (inline.length !== 1) throw new Error(`The page has ${inline.length} inline scripts instead of one.`);
  const [element, script = ""] = inline[0]!;
  const hash = createHash("sha256").update(script).digest("hex").slice(0, 12);
  const path = `_app/immutable/start-${hash}.js`;
  return {
    // Deferred, so that the elements that the script looks for exist.
    page: page.replace(element, () => `<script src="${BASE}/${path}" defer></script>`),
    script,
    path,
  };
}

function finish(folder: string): void {
  const shell = join(folder, "shell.html");
  const { page, script, path } = extractScript(readFileSync(shell, "utf8"));
  writeFileSync(shell, page);
  writeFileSync(join(folder, path), script);
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const file = join(folder, name);
    if (TEXT.test(name) && statSync(file).size >= MIN_COMPRESSED_BYTES) compress(file);
  }
}

function compress(file: string): void {
  const content = readFileSync(file);
  const parameters = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
  writeFileSync(`${file}.br`, brotliCompressSync(content, { params: parameters }));
  writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }));
}

if (import.meta.main) finish(FOLDER);
