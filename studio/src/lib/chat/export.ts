/** A conversation as a file. */

import { answerOf, attachmentsOf, type Item, textOf, type Turn } from "./items.ts";

interface Names {
  you: string;
  assistant: string;
  sources: string;
}

/** Return the turns of a conversation as Markdown. */
export function asMarkdown(title: string, turns: readonly Turn[], names: Names): string {
  const parts = [`# ${title}`];
  for (const { question, answer } of turns) {
    if (question) {
      const files = attachmentsOf(question).flatMap(({ name }) => (name ? [`[${name}]`] : []));
      parts.push(`## ${names.you}`, [textOf(question), ...files].filter(Boolean).join("\n\n"));
    }
    const { text, sources } = answerOf(answer);
    if (text) parts.push(`## ${names.assistant}`, text);
    if (sources.length > 0)
      parts.push(
        `${names.sources}:`,
        sources
          .map(({ title: name, page, origin }, index) => {
            const place = page === null ? "" : `, ${page}`;
            return `${index + 1}. ${name}${place}${origin && origin !== name ? ` <${origin}>` : ""}`;
          })
          .join("\n"),
      );
  }
  return `${parts.join("\n\n")}\n`;
}

/** Return all items of a conversation, those of all branches, as JSON. */
export const asJson = (conversation: object, items: readonly Item[]): string =>
  `${JSON.stringify({ conversation, items }, null, 2)}\n`;

/** Return a title as the name of a file. */
export const fileName = (title: string): string =>
  title
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-|-$/g, "")
    .slice(0, 60) || "conversation";
