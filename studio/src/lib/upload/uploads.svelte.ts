/** Uploads of many files into collections, which go on while the user looks at other screens.
 *
 * A file is stored first and then added to its collection. Both can be repeated: the key of an
 * upload makes the server store it once.
 */

import { untrack } from "svelte";

import { api, data } from "#lib/api/client.ts";
import { ApiError, UNREACHABLE } from "#lib/api/errors.ts";
import { changed } from "#lib/api/changed.ts";
import { readDraft, writeDraft } from "#lib/draft.svelte.ts";
import { t } from "#lib/i18n/index.svelte.ts";
import { session } from "#lib/session.svelte.ts";
import type { ChosenFile } from "./folders.ts";
import { sendFile } from "./send.ts";

const AT_ONCE = 3;
const MAX_ATTEMPTS = 5;
const REMEMBER_AFTER_MILLISECONDS = 300;
const MAX_REMEMBERED = 5_000;
/** So many files are compared with those that the collection has, with a request for each. */
const MAX_COMPARED = 50;
const MAX_FOLDER_CHARACTERS = 512;
const RESUME_SECONDS = 2;
const MAX_RESUME_SECONDS = 60;

/** A file that was in the collection before. */
export interface OlderFile {
  id: string;
  name: string;
}

export type UploadState = "waiting" | "sending" | "done" | "failed";

/** A file on its way into a collection. */
export class Upload {
  state: UploadState = $state("waiting");
  /** Bytes that were sent. */
  sent = $state(0);
  /** Why it failed. */
  error: unknown = $state.raw(null);
  /** The identifier of the stored file, as soon as it is stored. */
  fileId = "";
  attempts = 0;

  constructor(
    readonly file: File,
    readonly path: string,
    /** What makes the server store it once. */
    readonly key: string,
    /** The address of a page that is read in place of the content. */
    readonly url = "",
  ) {}

  get folder(): string {
    return this.path.slice(0, Math.max(0, this.path.length - this.file.name.length - 1));
  }
}

/** The uploads into one collection. */
export class Uploads {
  /** All files that were chosen since the page was opened. */
  all: Upload[] = $state.raw([]);
  counts: Record<UploadState, number> = $state({ waiting: 0, sending: 0, done: 0, failed: 0 });
  /** Files that the collection had before under the name of one that was uploaded. */
  older: OlderFile[] = $state.raw([]);
  /** Why all uploads wait: the server cannot be reached, or the session has ended. */
  paused: unknown = $state.raw(null);
  /** Files that were chosen before the page was closed, and had not been uploaded. */
  interrupted: string[] = $state.raw([]);
  /** The files that wait, in their order. */
  readonly #waiting: Upload[] = [];
  readonly #stop = new AbortController();
  readonly #draft: string;
  #rememberTimer: ReturnType<typeof setTimeout> | undefined;
  #resumeTimer: ReturnType<typeof setTimeout> | undefined;
  /** How often the connection broke since a file was last uploaded. */
  #breaks = 0;

  constructor(
    /** The identifier of the collection. */
    readonly collection: string,
  ) {
    this.#draft = `uploads.${collection}`;
    this.interrupted = readDraft<string[]>(this.#draft) ?? [];
  }

  /** Whether files are on their way, or wait for it. */
  get busy(): boolean {
    return this.counts.waiting + this.counts.sending > 0;
  }

  get failed(): Upload[] {
    return this.all.filter((each) => each.state === "failed");
  }

  /** Add files. One that is on its way, or was uploaded since the page was opened, is left out. */
  add(chosen: readonly ChosenFile[]): void {
    const known = new Set(this.all.map((each) => each.key));
    const added: Upload[] = [];
    for (const { file, path, url } of chosen) {
      const key = [this.collection, path, file.size, file.lastModified].join("/").slice(-2_000);
      if (known.has(key)) continue;
      known.add(key);
      added.push(new Upload(file, path, key, url));
    }
    this.all = [...this.all, ...added];
    for (const upload of added) {
      if (upload.file.size === 0) this.#refuseEmpty(upload);
      else this.#waiting.push(upload);
      this.counts[upload.state] += 1;
    }
    const paths = new Set(added.map((each) => each.path));
    this.interrupted = this.interrupted.filter((path) => !paths.has(path));
    this.#remember();
    this.resume();
  }

  /** Refuse a file without content before it is sent: nothing but another file helps. */
  #refuseEmpty(upload: Upload): void {
    upload.state = "failed";
    upload.error = new ApiError(t("knowledge.upload.empty"), 400);
  }

  /** Go on after a pause. */
  resume(): void {
    this.#clearResumeTimer();
    this.paused = null;
    for (let free = AT_ONCE - this.counts.sending; free > 0; free--) void this.#work();
  }

  retry(upload: Upload): void {
    if (upload.state !== "failed" || upload.file.size === 0) return;
    upload.attempts = 0;
    this.#wait(upload);
    this.resume();
  }

  retryAll(): void {
    for (const upload of this.failed) this.retry(upload);
  }

  /** Forget an upload that failed. */
  dismiss(upload: Upload): void {
    this.counts[upload.state] -= 1;
    this.all = this.all.filter((each) => each !== upload);
    this.#remember();
  }

  /** Stop all uploads and forget them: the collection is deleted, or the user signs out. */
  discard(): void {
    this.#stop.abort();
    clearTimeout(this.#rememberTimer);
    this.#clearResumeTimer();
    this.all = [];
    this.#waiting.length = 0;
    this.counts = { waiting: 0, sending: 0, done: 0, failed: 0 };
    this.forgetInterrupted();
  }

  forgetInterrupted(): void {
    this.interrupted = [];
    writeDraft(this.#draft, null);
  }

  async #work(): Promise<void> {
    while (this.paused === null && this.counts.sending < AT_ONCE) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      await this.#upload(next);
    }
  }

  async #upload(upload: Upload): Promise<void> {
    this.#move(upload, "sending");
    upload.error = null;
    upload.attempts += 1;
    try {
      if (!upload.fileId) upload.fileId = (await this.#send(upload)).id;
      await this.#attach(upload);
      this.#breaks = 0;
      this.#move(upload, "done");
      if (this.all.length <= MAX_COMPARED) await this.#compare(upload).catch(() => {});
    } catch (error) {
      if (!this.#stop.signal.aborted) await this.#fail(upload, error);
    }
  }

  #send(upload: Upload): ReturnType<typeof sendFile> {
    const { file, key } = upload;
    const onProgress = (bytes: number): void => void (upload.sent = bytes);
    return sendFile({ file, key, onProgress, signal: this.#stop.signal });
  }

  async #attach({ fileId, folder, url }: Upload): Promise<void> {
    const attributes = folder ? { folder: folder.slice(0, MAX_FOLDER_CHARACTERS) } : null;
    const body = { file_id: fileId, attributes, url };
    const params = { path: { id: this.collection } };
    await data(api.POST("/v1/vector_stores/{id}/files", { params, body }));
  }

  /** Note files of the same name: answers would use the former content beside the new one. */
  async #compare({ fileId, file, folder }: Upload): Promise<void> {
    const params = { path: { id: this.collection }, query: { text: file.name } };
    const { data: named } = await data(api.GET("/v1/vector_stores/{id}/files", { params }));
    const older = named.filter(
      (each) =>
        each.id !== fileId && each.filename === file.name && (each.attributes?.["folder"] ?? "") === folder,
    );
    const known = new Set(this.older.map(({ id }) => id));
    this.older = [
      ...this.older.filter(({ id }) => id !== fileId),
      ...older.filter(({ id }) => !known.has(id)).map(({ id }) => ({ id, name: file.name })),
    ];
  }

  /** Keep a file beside the new one of its name. */
  keepOlder(file: OlderFile): void {
    this.older = this.older.filter((each) => each !== file);
  }

  /** Remove a file from the collection in favour of the new one of its name. */
  async removeOlder(file: OlderFile): Promise<void> {
    const params = { path: { id: this.collection, file: file.id }, query: { delete_file: true } };
    await data(api.DELETE("/v1/vector_stores/{id}/files/{file}", { params }));
    this.keepOlder(file);
    changed(["collection", this.collection]);
  }

  /** Decide what a failure means: wait for all, wait for a moment, or give this file up. */
  async #fail(upload: Upload, error: unknown): Promise<void> {
    upload.sent = 0;
    if (error instanceof ApiError && error.status === 404) upload.fileId = ""; // deleted meanwhile
    const known = error instanceof ApiError ? error : null;
    if (known?.status === UNREACHABLE || known?.status === 401) {
      upload.attempts = 0;
      this.#wait(upload);
      this.paused = error;
      if (known.status === UNREACHABLE) this.#resumeLater();
    } else if (known?.temporary && upload.attempts < MAX_ATTEMPTS) {
      this.#wait(upload);
      const seconds = known.retryAfterSeconds || 2 ** upload.attempts / 2;
      await new Promise((wake) => setTimeout(wake, seconds * 1_000));
    } else {
      upload.error = error;
      this.#move(upload, "failed");
    }
  }

  /** Go on after a while: the browser tells when it is online again, not when the server is. */
  #resumeLater(): void {
    if (this.#resumeTimer !== undefined) return; // several files broke off together
    const seconds = Math.min(MAX_RESUME_SECONDS, RESUME_SECONDS * 2 ** this.#breaks);
    this.#breaks += 1;
    this.#resumeTimer = setTimeout(() => this.resume(), seconds * 1_000);
  }

  #clearResumeTimer(): void {
    clearTimeout(this.#resumeTimer);
    this.#resumeTimer = undefined;
  }

  /** Put a file before those that wait, so that files stay in their order. */
  #wait(upload: Upload): void {
    this.#move(upload, "waiting");
    this.#waiting.unshift(upload);
  }

  #move(upload: Upload, state: UploadState): void {
    this.counts[upload.state] -= 1;
    upload.state = state;
    this.counts[state] += 1;
    this.#remember();
    if (!this.busy) changed(["collection", this.collection]);
  }

  /** Note the files that are not uploaded, so that a closed page does not hide what is missing. */
  #remember(): void {
    this.#rememberTimer ??= setTimeout(() => {
      this.#rememberTimer = undefined;
      const open = this.all
        .filter((each) => each.state !== "done" && each.file.size > 0)
        .map((each) => each.path);
      const paths = [...this.interrupted, ...open].slice(0, MAX_REMEMBERED);
      writeDraft(this.#draft, paths.length > 0 ? paths : null);
    }, REMEMBER_AFTER_MILLISECONDS);
  }
}

const collections = new Map<string, Uploads>();

/** Return the uploads into a collection. They belong to the page, not to a screen. */
export function uploadsInto(collection: string): Uploads {
  let uploads = collections.get(collection);
  if (uploads === undefined) {
    uploads = new Uploads(collection);
    collections.set(collection, uploads);
  }
  return uploads;
}

/** Stop the uploads into a collection that is deleted. */
export function discardUploads(collection: string): void {
  collections.get(collection)?.discard();
  collections.delete(collection);
}

function resumeAll(): void {
  for (const uploads of collections.values()) if (uploads.paused !== null) uploads.resume();
}

window.addEventListener("online", resumeAll);
window.addEventListener("beforeunload", (event) => {
  if ([...collections.values()].some((each) => each.busy)) event.preventDefault();
});
$effect.root(() => {
  let user = untrack(() => (session.me ? `${session.me.organization}/${session.me.subject}` : ""));
  $effect(() => {
    const { me, lost } = session;
    const now = me === null ? "" : `${me.organization}/${me.subject}`;
    untrack(() => {
      if (user !== now) for (const collection of [...collections.keys()]) discardUploads(collection);
      else if (!lost) resumeAll();
    });
    user = now;
  });
});
