/** The prompt that the studio makes of the tools of an assistant. */

import type { Language } from "./i18n/index.svelte.ts";

/** Where the passages of documents go. */
const PASSAGES = "context";
const QUESTION = "{user_input}";
const TEXTS: Record<Language, { passages: string; question: string }> = {
  en: { passages: "Text: {context}", question: "Using the text, answer: {user_input}" },
  es: { passages: "Texto: {context}", question: "Con este texto, responde: {user_input}" },
  ca: { passages: "Text: {context}", question: "Amb aquest text, respon: {user_input}" },
  eu: { passages: "Testua: {context}", question: "Testu honekin, erantzun: {user_input}" },
};

/** Return a prompt in a language with places for results of tools; empty without one. */
export function madePrompt(places: readonly string[], language: Language): string {
  const others = places.filter((each) => each !== PASSAGES).map((each) => `{${each}}`);
  if (!places.includes(PASSAGES)) return others.length > 0 ? [...others, "", QUESTION].join("\n") : "";
  const { passages, question } = TEXTS[language];
  return [passages, ...others, question].join("\n");
}

/** Return the language in which the studio made a prompt, `preferred` if it has no words; null if a
 * person wrote it. */
export function languageOf(prompt: string, places: readonly string[], preferred: Language): Language | null {
  const languages = [preferred, ...(Object.keys(TEXTS) as Language[])];
  return languages.find((each) => madePrompt(places, each) === prompt) ?? null;
}
