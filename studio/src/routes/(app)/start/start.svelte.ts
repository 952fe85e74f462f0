/** The way from a document to an assistant, step by step. It goes on after a reload, a lost
 * connection or a failure, and makes nothing twice. */

import { ApiError, UNREACHABLE } from "#lib/api/errors.ts";
import { readDraft, writeDraft } from "#lib/draft.svelte.ts";
import { nameOf } from "#lib/new-assistant.ts";
import * as things from "./things.ts";

export const DRAFT = "start";
export const STEPS = ["upload", "read", "make"] as const;
export type Step = (typeof STEPS)[number];
const POLL_MILLISECONDS = 1_000;

interface Progress extends things.Wish {
  /** The file that the user chose. */
  fileName: string;
  fileSize: number;
  /** The newest file before the upload; undefined before it began. */
  newest?: string;
  file: string;
  /** By which the collection is found again. */
  mark: string;
  storeAsked: boolean;
  store: string;
  attachAsked: boolean;
  assistantAsked: boolean;
  assistant: string;
}

export class Start {
  progress: Progress | null = $state(readDraft<Progress>(DRAFT));
  /** The step that is running or has failed. */
  step: Step = $state("upload");
  /** What is uploaded, from 0 to 1. */
  uploaded = $state(0);
  running = $state(false);
  error: unknown = $state.raw(null);
  /** Why the document cannot be read. */
  unreadable = $state("");
  /** Whether the user has to choose the file again: a reload forgot it. */
  fileMissing = $state(false);
  #file: File | null = null;

  /** Begin with a file. */
  async begin(file: File, wish: things.Wish): Promise<string> {
    this.progress = {
      ...wish,
      fileName: file.name,
      fileSize: file.size,
      file: "",
      mark: crypto.getRandomValues(new Uint32Array(4)).join("-"),
      storeAsked: false,
      store: "",
      attachAsked: false,
      assistantAsked: false,
      assistant: "",
    };
    this.#file = file;
    return this.run();
  }

  /** Go on with the file of before, which the user has chosen again. */
  async choose(file: File): Promise<string> {
    this.#set({ fileName: file.name, fileSize: file.size });
    this.#file = file;
    return this.run();
  }

  /** Do what is left, and return the id of the assistant; empty if something failed. */
  async run(): Promise<string> {
    if (this.running || !this.progress) return "";
    this.running = true;
    this.error = null;
    this.unreadable = "";
    this.fileMissing = false;
    try {
      if (!(await this.#upload())) return "";
      if (!(await this.#read())) return "";
      return await this.#make();
    } catch (error) {
      this.error = error;
      return "";
    } finally {
      this.running = false;
    }
  }

  /** Delete what was made, and begin anew. */
  async giveUp(): Promise<void> {
    this.error = null;
    const { store = "", file = "" } = this.progress ?? {};
    try {
      await things.discard(store, file);
      this.end();
    } catch (error) {
      this.error = error;
    }
  }

  /** Forget the way; the assistant is there. */
  end(): void {
    this.progress = null;
    this.#file = null;
    this.uploaded = 0;
    this.unreadable = "";
    this.fileMissing = false;
    writeDraft(DRAFT, null);
  }

  async #upload(): Promise<boolean> {
    this.step = "upload";
    const { fileName, fileSize, file, newest } = this.progress!;
    if (file) return true;
    if (newest === undefined) this.#set({ newest: await things.newestFile() });
    else this.#set({ file: await things.findFile(fileName, fileSize, newest) });
    if (this.progress!.file) return true;
    if (!this.#file) {
      this.fileMissing = true;
      return false;
    }
    this.uploaded = 0;
    const id = await things.uploadFile(this.#file, (part) => (this.uploaded = part));
    this.#set({ file: id });
    return true;
  }

  async #read(): Promise<boolean> {
    this.step = "read";
    if (!this.progress!.store && this.progress!.storeAsked)
      this.#set({ store: await things.findStore(this.progress!.mark) });
    if (!this.progress!.store) {
      this.#set({ storeAsked: true });
      const { title, language, mark } = this.progress!;
      this.#set({ store: await things.makeStore(title, language, mark) });
    }
    const { store, file } = this.progress!;
    let state = this.progress!.attachAsked ? await things.attached(store, file) : null;
    this.#set({ attachAsked: true });
    // Attaching again reads the document again.
    if (state?.status !== "in_progress" && state?.status !== "completed")
      state = await things.attach(store, file);
    while (state?.status === "in_progress") {
      await new Promise((resolve) => setTimeout(resolve, POLL_MILLISECONDS));
      if (this.progress?.store !== store) return false; // given up
      state = await things.attached(store, file);
    }
    this.unreadable = state?.last_error?.message ?? "";
    if (state?.status !== "completed" && !this.unreadable) throw new ApiError("", UNREACHABLE);
    return state?.status === "completed";
  }

  async #make(): Promise<string> {
    this.step = "make";
    const { title, store, assistantAsked } = this.progress!;
    const name = nameOf(title);
    if (assistantAsked && !this.progress!.assistant)
      this.#set({ assistant: await things.findAssistant(name, store) });
    if (!this.progress!.assistant) {
      this.#set({ assistantAsked: true });
      this.#set({ assistant: await things.makeAssistant(name, store, this.progress!) });
    }
    const { assistant = "", mark } = this.progress!;
    // Without it, documents that are added later go into another collection.
    await things.adopt(store, mark, assistant).catch(() => {});
    return assistant;
  }

  #set(changes: Partial<Progress>): void {
    this.progress = { ...this.progress!, ...changes };
    writeDraft(DRAFT, this.progress);
  }
}
