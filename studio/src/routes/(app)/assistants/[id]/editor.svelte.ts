/** What the editor of an assistant works on. */

import { untrack } from "svelte";

import { api, data, versioned } from "#lib/api/client.ts";
import { ApiError } from "#lib/api/errors.ts";
import { debounced } from "#lib/debounced.svelte.ts";
import { readDraft, writeDraft } from "#lib/draft.svelte.ts";
import { language } from "#lib/i18n/index.svelte.ts";
import { type Schema, textsOf } from "#lib/schema-form/schema.ts";
import { offerUndoOfSave } from "#lib/undo-assistants.ts";
import {
  type Assistant,
  changes,
  editable,
  type Fault,
  fetchAssistant,
  isReadable,
  type Member,
  type Other,
  type Report,
  same,
  savedBy,
  type Version,
} from "./assistant.ts";
import { toolTexts } from "#lib/tools.ts";
import { type Catalog } from "./catalog.ts";
import { fieldName } from "./fields.ts";
import { merge, type Side } from "./merge.ts";
import type { TemplateFinding } from "./template.ts";

const VALIDATE_AFTER_MILLISECONDS = 300;
const DRAFT_AFTER_MILLISECONDS = 200;

interface StoredDraft {
  assistant: Assistant;
  stored: Version;
}

/** The unsaved assistant, the stored one, and what the server says about them. */
export class Editor {
  /** What is being edited. */
  assistant: Assistant = $state()!;
  /** What the edit began with, and its ETag. */
  stored: Version = $state.raw()!;
  /** A save of somebody else, or in another window, since the edit began. */
  other: Other | null = $state.raw(null);
  /** What the server found in the unsaved assistant, null before the first answer. */
  findings: Report | null = $state.raw(null);
  /** Why the unsaved assistant could not be checked. */
  checkError: unknown = $state.raw(null);
  /** What an assistant can be made of, null before it is known. */
  catalog: Catalog | null = $state.raw(null);
  /** The tool that the form shows next. */
  revealed: { index: number } | null = $state.raw(null);
  /** Why the last save failed. */
  error: unknown = $state.raw(null);
  saving = $state(false);
  /** Whether the changes are those of an earlier visit. */
  restored = $state(false);
  /** The stored assistant, as the form has it. */
  readonly base: Assistant = $derived.by(() => editable(this.stored.content));
  /** The fields that differ from the stored assistant. */
  readonly changedMembers: readonly Member[] = $derived.by(() => changes(this.base, this.assistant));
  /** Whether something is not saved. */
  readonly changed: boolean = $derived.by(() => this.changedMembers.length > 0);
  #checkedTemplate = $state.raw("");
  readonly #draft: string;

  constructor(
    readonly id: string,
    current: Version,
  ) {
    this.#draft = `assistant.${id}`;
    const draft = readDraft<StoredDraft>(this.#draft);
    this.stored = draft?.stored ?? current;
    this.assistant = draft?.assistant ?? editable(current.content);
    this.restored = draft !== null;
    if (current.etag !== this.etag) void this.#meet(current);
    this.#keepDraft();
    this.#validate();
  }

  get etag(): string {
    return this.stored.etag;
  }

  /** Whether the assistant cannot be changed here. */
  get readOnly(): boolean {
    return this.stored.content.read_only;
  }

  /** The name for people. */
  get title(): string {
    return this.stored.content.title || this.stored.content.name;
  }

  /** Return what the server found wrong with a member, such as `model.connector`. */
  errors = (field: string): string[] =>
    this.findings?.violations.filter((each) => each.field === field).map((each) => each.description) ?? [];

  /** Return the name, the errors and the place of the control of a member such as `model.connector`. */
  field = (path: string): { label: string; errors: string[]; "data-field": string } => ({
    label: fieldName(path, this),
    errors: this.errors(path),
    "data-field": path,
  });

  /** Return what the server remarked about a member and its parts. */
  warningsBelow = (field: string): string[] =>
    this.findings?.warnings.filter((each) => within(each.field, field)).map((each) => each.description) ?? [];

  /** Return what the server found wrong with a member and its parts. */
  violationsBelow = (field: string): readonly Fault[] =>
    this.findings?.violations.filter((each) => within(each.field, field)) ?? [];

  /** What is probably a mistake in the template. None while it changes: the places would be wrong. */
  get templateFindings(): readonly TemplateFinding[] {
    return this.#checkedTemplate === this.assistant.prompt_template
      ? (this.findings?.template_findings ?? [])
      : [];
  }

  /** Show a tool in the form. */
  reveal = (index: number): void => {
    this.revealed = { index };
  };

  toolName(index: number): string {
    return this.titleOf(this.assistant.tools[index]?.type ?? "");
  }

  /** Return the name of a setting of a tool, as its schema has it. */
  settingName(index: number, setting: string): string {
    const type = this.assistant.tools[index]?.type;
    const schema = this.catalog?.tools.find(({ name }) => name === type)?.config_schema;
    const property = (schema?.["properties"] as Record<string, Schema> | undefined)?.[setting];
    return (property && textsOf(property, language()).title) || setting;
  }

  /** Return the title of a tool, or its name if the server does not have it. */
  titleOf(type: string): string {
    const tool = this.catalog?.tools.find(({ name }) => name === type);
    return tool ? toolTexts(tool, language()).title : type;
  }

  /** Store the assistant. What is typed meanwhile stays unsaved. */
  async save(): Promise<void> {
    if (this.saving) return;
    this.saving = true;
    this.error = null;
    const sent = this.#snapshot();
    const before = this.etag;
    try {
      const params = { path: { id: this.id }, header: { "If-Match": before } };
      const call = api.PUT("/assistants/{id}", { params, body: sent });
      this.#adopt((await versioned(call)) as Version, sent);
      this.restored = false;
      const undone = (): void => void this.refresh(true);
      offerUndoOfSave({ id: this.id, name: this.title, before, after: this.etag, undone });
    } catch (failure) {
      await this.#refuse(failure);
    } finally {
      this.saving = false;
    }
  }

  /** Ask whether somebody else saved.
   *
   * Args:
   *   load: Whether the form shows what is stored now, if nothing is unsaved.
   */
  async refresh(load = false): Promise<void> {
    const known = this.other?.version.etag ?? this.etag;
    const current = await fetchAssistant(this.id, { known });
    if (current === null || this.saving) return;
    const { content, etag } = current;
    if (!isReadable(content) || etag === this.etag) return;
    if (load && !this.changed) this.#load({ content, etag });
    else await this.#meet({ content, etag });
  }

  /** Continue with what somebody else saved, and with the chosen sides of the differences. */
  resolve(choices: ReadonlyMap<string, Side>): void {
    if (this.other === null) return;
    const { version } = this.other;
    this.assistant = merge(this.base, this.#snapshot(), editable(version.content), choices);
    this.stored = version;
    this.other = null;
    this.error = null;
  }

  /** Show what somebody else saved, and forget the changes. Returns how to take that back. */
  takeTheirs(): () => void {
    const [assistant, stored, other] = [this.#snapshot(), this.stored, this.other];
    this.#load(this.other?.version ?? this.stored);
    return () => {
      this.stored = other ? stored : this.stored;
      this.other = other;
      this.assistant = assistant;
    };
  }

  /** Write the draft now: the page may be gone before the next pause. */
  keepDraft(): void {
    writeDraft(this.#draft, this.changed ? { assistant: this.assistant, stored: this.stored } : null);
  }

  #snapshot(): Assistant {
    return $state.snapshot(this.assistant) as Assistant;
  }

  #load(version: Version): void {
    this.stored = version;
    this.assistant = editable(version.content);
    this.other = null;
    this.error = null;
    this.restored = false;
  }

  /** Take over a stored version, and keep what was typed while it was being stored. */
  #adopt(version: Version, sent: Assistant): void {
    const typed = this.#snapshot();
    this.stored = version;
    const stored = editable(version.content);
    this.assistant = same(typed, sent) ? stored : merge(sent, typed, stored, new Map());
    this.other = null;
  }

  /** Note what somebody else saved. Without a difference in the form it replaces the base of the edit. */
  async #meet(version: Version, conflict: Partial<Other> = {}): Promise<void> {
    const stored = editable(version.content);
    if (changes(this.base, stored).length === 0) {
      this.stored = version;
      this.other = null;
      return;
    }
    const author = await savedBy(this.id);
    // A poll that meets the same version again must not close what a refused save has opened.
    const blocking = this.other?.version.etag === version.etag && this.other.blocking;
    this.other = { version, ...author, ...(blocking && { blocking }), ...conflict };
  }

  async #refuse(failure: unknown): Promise<void> {
    this.error = failure;
    if (!(failure instanceof ApiError)) return;
    if (failure.code === "conflict" || failure.status === 412) await this.#conflict();
    else if (failure.violations.length > 0)
      this.findings = {
        warnings: [],
        template_findings: [],
        ...this.findings,
        valid: false,
        violations: [...failure.violations],
      };
  }

  async #conflict(): Promise<void> {
    const current = await fetchAssistant(this.id);
    if (!current || !isReadable(current.content)) return;
    await this.#meet({ content: current.content, etag: current.etag }, { blocking: true });
    if (this.other !== null) return;
    // Only something that the form does not have differs, such as the publication.
    this.error = null;
    this.saving = false;
    await this.save();
  }

  #keepDraft(): void {
    const settled = debounced(
      () => [this.changed, $state.snapshot(this.assistant)],
      DRAFT_AFTER_MILLISECONDS,
    );
    $effect(() => {
      void settled.current;
      untrack(() => this.keepDraft());
    });
  }

  #validate(): void {
    const body = debounced(() => this.#snapshot(), VALIDATE_AFTER_MILLISECONDS);
    $effect(() => {
      const stop = new AbortController();
      const checked = body.current;
      data(api.POST("/assistants/validate", { body: checked, signal: stop.signal })).then(
        (report) => {
          this.findings = report;
          this.checkError = null;
          this.#checkedTemplate = checked.prompt_template;
        },
        (error: unknown) => {
          if (!stop.signal.aborted) this.checkError = error;
        },
      );
      return () => stop.abort();
    });
  }
}

/** Return whether a field is a member, or a part of it. */
const within = (field: string, member: string): boolean =>
  field === member || field.startsWith(`${member}.`) || field.startsWith(`${member}[`);
