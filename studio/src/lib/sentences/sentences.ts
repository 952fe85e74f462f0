/** Sentences of the services, which speak English, in the languages of the studio. */

import type { Language } from "#lib/i18n/index.svelte.ts";
import sentences from "./sentences.json";

const PLACEHOLDER = /\{(\w+)\}/g;
const QUOTED = `["'](?<$1>.+?)["']`;

/** Return the pattern of an English sentence with placeholders; a name has the quotes that fit it. */
const patternOf = (sentence: string): RegExp =>
  new RegExp(
    `^${sentence
      .replace(/[.*+?^$()|[\]\\]/g, "\\$&")
      .replace(/'\{(\w+)\}'/g, QUOTED)
      .replace(PLACEHOLDER, "(?<$1>.+?)")}$`,
    "su",
  );

/** The longest first: one with more words than another fits fewer sentences. */
const patterns = sentences
  .map((each) => ({ ...each, pattern: patternOf(each.en) }))
  .sort((one, other) => other.en.length - one.en.length);
/** What stands before the warnings of a tool. */
const OF_TOOL = /^(?<tool>[\w -]+): (?<warning>.+)$/su;

/** Return a sentence in a language, null if the studio does not know it. */
export function translated(sentence: string, language: Language): string | null {
  for (const { pattern, [language]: text } of patterns) {
    const values = pattern.exec(sentence)?.groups;
    if (values || pattern.test(sentence))
      return text.replace(PLACEHOLDER, (_, name: string) => values?.[name] ?? "");
  }
  const { tool, warning } = OF_TOOL.exec(sentence)?.groups ?? {};
  const text = warning === undefined ? null : translated(warning, language);
  return text === null ? null : `${tool}: ${text}`;
}
