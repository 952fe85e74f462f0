/** Markdown in blocks, such as paragraphs, lists and tables. While the text grows, only the last block is
 * read again.
 */

import { Marked, type Token } from "marked";

import { math } from "./math.ts";

export interface Block {
  raw: string;
  tokens: Token[];
  /** Whether text that follows cannot change it. */
  settled: boolean;
}

/** A formula on lines of its own, of which the end is still to come: it can have empty lines. */
const OPEN_FORMULA = /^ {0,3}(?:\$\$|\\\[)/;
export const marked = new Marked({ gfm: true, breaks: true }, math, {
  renderer: {
    // Controls are no part of texts.
    checkbox: ({ checked }) => `<span data-task>${checked ? "☑" : "☐"}</span> `,
    code({ text, lang }) {
      const language = /^[\w+#.-]{1,20}/.exec(lang ?? "")?.[0] ?? "";
      const code = text.replace(/&/g, "&amp;").replace(/</g, "&lt;");
      return `<pre><code data-language="${language}">${code}\n</code></pre>\n`;
    },
  },
});

/** Reads a text that grows. */
export class Blocks {
  #settled: Block[] = [];
  #text = "";
  #refers = false;

  /** Return the blocks of a text; those that were settled before are the same objects.
   *
   * Args:
   *   text: The former text and what was added, or another text.
   *   growing: Whether more may follow.
   */
  read(text: string, growing: boolean): readonly Block[] {
    const whole = text.replace(/\r\n?/g, "\n");
    if (!whole.startsWith(this.#text)) this.#restart();
    const tokens = marked.lexer(whole.slice(this.#text.length));
    this.#refers ||= Object.keys(tokens.links).length > 0;
    if (!growing && this.#refers && this.#text) {
      // A reference such as `[1]: https://…` can belong to any block.
      this.#restart();
      return this.read(text, growing);
    }
    const last = growing ? lastBlock(tokens) : tokens.length;
    for (const token of tokens.slice(0, last)) this.#settle(token);
    const rest = tokens.slice(last);
    return rest.length > 0 ? [...this.#settled, open(rest)] : [...this.#settled];
  }

  #settle(token: Token): void {
    this.#text += token.raw;
    if (token.type !== "space") this.#settled.push({ raw: token.raw, tokens: [token], settled: true });
  }

  #restart(): void {
    this.#settled = [];
    this.#text = "";
  }
}

/** Return the position of the first block that text which follows can change. */
function lastBlock(tokens: readonly Token[]): number {
  const formula = tokens.findIndex(({ type, raw }) => type === "paragraph" && OPEN_FORMULA.test(raw));
  const last = tokens.findLastIndex(({ type }) => type !== "space");
  return Math.max(0, formula >= 0 ? Math.min(formula, last) : last);
}

const open = (tokens: Token[]): Block => ({
  raw: tokens.map(({ raw }) => raw).join(""),
  tokens,
  settled: false,
});
