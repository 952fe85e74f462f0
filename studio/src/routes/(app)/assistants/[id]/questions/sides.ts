/** What can answer the saved questions: the unsaved assistant of the editor, and its versions. */

import { readDraft } from "#lib/draft.svelte.ts";
import { moment, t } from "#lib/i18n/index.svelte.ts";
import type { Tried } from "#lib/trial/tried.ts";
import { fetchPage, fetchVersion } from "../versions/versions.ts";

export const UNSAVED = "unsaved";
export const NONE = "none";

export interface Choice {
  value: string;
  label: string;
}

const unsaved = (id: string): Tried | undefined =>
  readDraft<{ assistant: Tried }>(`assistant.${id}`)?.assistant;

/** Return the choices, the newest first. */
export async function choices(id: string, signal: AbortSignal): Promise<Choice[]> {
  const { versions } = await fetchPage(id, "", signal);
  const saved = versions.map(({ number, save_time }) => ({
    value: String(number),
    label: `${t("versions.version", { number })} (${moment(save_time)})`,
  }));
  return unsaved(id) ? [{ value: UNSAVED, label: t("questions.unsaved") }, ...saved] : saved;
}

/** Return the assistant of a choice. */
export async function assistantOf(id: string, value: string, signal: AbortSignal): Promise<Tried> {
  const draft = value === UNSAVED ? unsaved(id) : undefined;
  if (draft) return draft;
  return (await fetchVersion(id, Number(value), signal)).assistant as Tried;
}
