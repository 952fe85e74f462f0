/** Who may use and edit an assistant. */

import { api, data, versioned } from "#lib/api/client.ts";
import type { components } from "#lib/api/schema.d.ts";

export type Sharing = components["schemas"]["Sharing"];
export type Role = "use" | "edit";
export interface Stored {
  content: Sharing;
  etag: string;
}
/** What the form edits. */
export interface Shared extends Record<string, unknown> {
  visibility: Sharing["visibility"];
  people: { email: string; role: Role }[];
}

export const fetchSharing = (id: string, signal?: AbortSignal): Promise<Stored> =>
  versioned(api.GET("/assistants/{id}/sharing", { params: { path: { id } }, ...(signal && { signal }) }));

export function saveSharing(id: string, etag: string, shared: Shared): Promise<Stored> {
  const withRole = (role: Role): string[] =>
    shared.people.filter((each) => each.role === role).map((each) => each.email);
  return versioned(
    api.PUT("/assistants/{id}/sharing", {
      params: { path: { id }, header: { "If-Match": etag } },
      body: {
        visibility: shared.visibility,
        users_who_may_use: withRole("use"),
        users_who_may_edit: withRole("edit"),
      },
    }),
  );
}

export const handOver = (id: string, etag: string, owner: string): Promise<Sharing> =>
  data(
    api.POST("/assistants/{id}/owner", {
      params: { path: { id }, header: { "If-Match": etag } },
      body: { owner },
    }),
  );

/** Return what the form edits of what is stored. */
export const editable = (sharing: Sharing): Shared => ({
  visibility: sharing.visibility,
  people: [
    ...sharing.users_who_may_edit.map((email) => ({ email, role: "edit" as const })),
    ...sharing.users_who_may_use.map((email) => ({ email, role: "use" as const })),
  ],
});
