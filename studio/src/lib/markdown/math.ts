/** Formulas in Markdown: `$…$`, `\(…\)`, `\[…\]` and `$$`. Their TeX becomes a marked code, which
 * `formulas.ts` sets.
 */

import type { MarkedExtension, TokenizerAndRendererExtension, Tokens } from "marked";

const MAX_CHARACTERS = 4_000;
const BLOCK = /^ {0,3}(?:\$\$([\s\S]+?)\$\$|\\\[([\s\S]+?)\\\])[ \t]*(?:\n|$)/;
/** A single `$` is also a currency: what it encloses has no space at its ends, and no digit follows. */
const INLINE =
  /^(?:\$\$([^$]+?)\$\$|\\\[([\s\S]+?)\\\]|\\\(([\s\S]+?)\\\)|\$(?![\s$])((?:\\[^\n]|[^\\$\n])*?(?:\\[^\n]|[^\s\\$]))\$(?!\d))/;
const BLOCK_START = /(?:^|\n) {0,3}(?=\$\$|\\\[)/;
const INLINE_START = /\$|\\[[(]/;

interface Formula extends Tokens.Generic {
  text: string;
  /** Whether it stands on lines of its own. */
  display: boolean;
}

function extension(
  name: string,
  level: "block" | "inline",
  start: RegExp,
  rule: RegExp,
): TokenizerAndRendererExtension {
  return {
    name,
    level,
    start: (source) => start.exec(source)?.index,
    tokenizer(source): Formula | undefined {
      const match = rule.exec(source);
      const text = match?.slice(1).find((group) => group !== undefined);
      if (!match || !text || text.length > MAX_CHARACTERS) return undefined;
      return { type: name, raw: match[0], text, display: match[3] === undefined && match[4] === undefined };
    },
    renderer(token) {
      const { text, display } = token as Formula;
      const code = `<code data-math="${display ? "display" : "inline"}">${escaped(text.trim())}</code>`;
      return level === "block" ? `<p>${code}</p>` : code;
    },
  };
}

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
const escaped = (text: string): string => text.replace(/[&<>]/g, (character) => ENTITIES[character]!);

export const math: MarkedExtension = {
  extensions: [
    extension("mathBlock", "block", BLOCK_START, BLOCK),
    extension("math", "inline", INLINE_START, INLINE),
  ],
};
