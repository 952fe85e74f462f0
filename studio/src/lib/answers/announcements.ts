/** What a screen reader says about the running answer. */

import { t } from "#lib/i18n/index.svelte.ts";
import { type Answer, isCut } from "./answer.ts";
import { progressText } from "./progress.ts";

/** Return the lines of progress, and the answer when it is complete, not word by word. */
export function announcements(turn: { answer: Answer; state: string } | undefined): string[] {
  if (!turn) return [];
  const lines = turn.answer.statuses.map(({ text }) => progressText(text));
  if (turn.state === "complete") {
    const end = isCut(turn.answer) ? "answer.length" : "answer.answered";
    return [...lines, t(end), turn.answer.text];
  }
  if (turn.state === "stopped") return [...lines, t("answer.stopped")];
  if (turn.state === "cut") return [...lines, t("answer.cut")];
  return lines;
}
