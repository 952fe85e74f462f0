import { api } from "#lib/api/client.ts";
import type { components } from "#lib/api/schema.d.ts";
import { download } from "#lib/download.ts";

export type Job = components["schemas"]["Job"];
export type JobTable = components["schemas"]["JobTable"];
export const KINDS = ["import", "sweep", "rollback"] as const;
export const POLL_MILLISECONDS = 1000;
export const LOOKS = {
  queued: "neutral",
  running: "accent",
  stopping: "warning",
  stopped: "warning",
  done: "success",
  failed: "danger",
} as const;

export const isFinished = ({ state }: Job): boolean => ["stopped", "done", "failed"].includes(state);
export const seen = (table: JobTable): number => table.changed + table.unchanged + table.refused;

/** A job as it was read last: one that does not change is not sent again. */
export class JobReader {
  #job: Job | null = null;
  #etag = "";

  constructor(readonly id: string) {}

  async read(signal: AbortSignal): Promise<Job> {
    const headers = this.#etag ? { "If-None-Match": this.#etag } : undefined;
    const { data, response } = await api.GET("/migration/jobs/{id}", {
      params: { path: { id: this.id } },
      signal,
      ...(headers && { headers }),
    });
    if (response.status === 304 && this.#job) return this.#job;
    this.#etag = response.headers.get("etag") ?? "";
    this.#job = data as Job;
    return this.#job;
  }
}

/** Make the browser save all findings of a job as a file. */
export async function saveFindings(id: string): Promise<void> {
  const { data } = await api.GET("/migration/jobs/{id}/findings", {
    params: { path: { id }, query: { format: "csv" } },
    parseAs: "blob",
  });
  download(data as unknown as Blob, `findings_${id}.csv`);
}
