/** What a screen reader says about the running answer. */

import { t } from "#lib/i18n/index.svelte.ts";
import { isCut } from "./answer.ts";
import type { Turn } from "./ask.ts";

/** Return the lines of progress, and the answer when it is complete, not word by word. */
export function announcements(turn: Turn | undefined): string[] {
  if (!turn) return [];
  const lines = turn.answer.statuses.map(({ text }) => text);
  if (turn.state === "complete") {
    const end = isCut(turn.answer) ? "trial.length" : "trial.answered";
    return [...lines, t(end), turn.answer.text];
  }
  if (turn.state === "stopped") return [...lines, t("trial.stopped")];
  if (turn.state === "cut") return [...lines, t("trial.cut")];
  return lines;
}
