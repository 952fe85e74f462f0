/** Taking back changes of assistants. */

import { api, data } from "./api/client.ts";
import { changed } from "./api/changed.ts";
import { t } from "./i18n/index.svelte.ts";
import { undo } from "./undo.svelte.ts";

interface Saved {
  id: string;
  /** The name for people. */
  name: string;
  /** The ETag before the save. */
  before: string;
  /** The ETag that the save returned. */
  after: string;
  /** Called after the assistant is again what it was. */
  undone?: (() => void) | undefined;
}

/** Return the number of the version in an ETag such as `"7-3"`. */
export const versionOf = (etag: string): number => Number(/-(\d+)"?$/.exec(etag)?.[1] ?? 0);

/** Offer to take back a save, by restoring the version before it. */
export function offerUndoOfSave({ id, name, before, after, undone }: Saved): void {
  const number = versionOf(before);
  if (number === 0 || before === after) return; // nothing changed
  undo.offer({
    message: t("undo.saved", { name }),
    done: t("undo.restored", { name }),
    run: async () => {
      await restore(id, number, after);
      undone?.();
      changed();
    },
  });
}

/** Offer to take back a deletion. */
export function offerUndoOfDeletion(id: string, name: string, undone?: () => void): void {
  undo.offer({
    message: t("undo.deleted", { name }),
    done: t("undo.undeleted", { name }),
    run: async () => {
      await data(api.POST("/assistants/{id}/undelete", { params: { path: { id } } }));
      undone?.();
      changed();
    },
  });
}

/** Restore a version, and return the new ETag.
 *
 * Throws ApiError: The assistant has another ETag now.
 */
export async function restore(id: string, number: number, etag: string): Promise<string> {
  const path = { id, number };
  const { response } = await api.POST("/assistants/{id}/versions/{number}/restore", {
    params: { path, header: { "If-Match": etag } },
  });
  return response.headers.get("etag") ?? "";
}
