/** What the editor of an assistant works on. */

import { api, data, versioned } from "#lib/api/client.ts";
import { ApiError } from "#lib/api/errors.ts";
import { debounced } from "#lib/debounced.svelte.ts";
import { readDraft, writeDraft } from "#lib/draft.svelte.ts";
import { language } from "#lib/i18n/index.svelte.ts";
import {
  type Assistant,
  changes,
  editable,
  type Member,
  type Report,
  same,
  type Version,
} from "./assistant.ts";
import { type Catalog, toolTexts } from "./catalog.ts";
import { toolOf } from "./offers.ts";
import type { TemplateFinding } from "./template.ts";

const VALIDATE_AFTER_MILLISECONDS = 300;
const DRAFT_AFTER_MILLISECONDS = 200;

/** The unsaved assistant, the stored one, and what the server says about them. */
export class Editor {
  /** What is being edited. */
  assistant: Assistant = $state()!;
  /** What the edit began with, and its ETag. */
  stored: Version = $state.raw()!;
  /** What the server found in the unsaved assistant, null before the first answer. */
  findings: Report | null = $state.raw(null);
  /** What an assistant can be made of, null before it is known. */
  catalog: Catalog | null = $state.raw(null);
  /** The tool that the form shows next. */
  revealed: { index: number } | null = $state.raw(null);
  /** Why the last save failed. */
  error: unknown = $state.raw(null);
  saving = $state(false);
  /** The fields that differ from the stored assistant. */
  readonly changedMembers: readonly Member[] = $derived.by(() =>
    changes(editable(this.stored.content), this.assistant),
  );
  /** Whether something is not saved. */
  readonly changed: boolean = $derived.by(() => this.changedMembers.length > 0);
  #checkedTemplate = $state.raw("");
  readonly #draft: string;

  constructor(
    readonly id: string,
    current: Version,
  ) {
    this.#draft = `assistant.${id}`;
    const draft = readDraft<{ assistant: Assistant; stored: Version }>(this.#draft);
    this.stored = draft?.stored ?? current;
    this.assistant = draft?.assistant ?? editable(current.content);
    this.#keepDraft();
    this.#validate();
  }

  get etag(): string {
    return this.stored.etag;
  }

  /** Return what the server found wrong with a member, such as `model.connector`. */
  errors = (field: string): string[] =>
    this.findings?.violations.filter((each) => each.field === field).map((each) => each.description) ?? [];

  /** Return how many faults a member and its parts have. */
  faultsBelow = (field: string): number =>
    this.findings?.violations.filter(
      (each) =>
        each.field === field || each.field.startsWith(`${field}.`) || each.field.startsWith(`${field}[`),
    ).length ?? 0;

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
    const binding = this.assistant.tools[index];
    const tool = binding && this.catalog ? toolOf(binding, this.catalog) : undefined;
    return tool ? toolTexts(tool, language()).title : (binding?.type ?? "");
  }

  /** Store the assistant. What is typed meanwhile stays unsaved. */
  async save(): Promise<void> {
    if (this.saving) return;
    this.saving = true;
    this.error = null;
    const sent = $state.snapshot(this.assistant) as Assistant;
    try {
      this.#adopt(await this.#put(sent), sent);
    } catch (failure) {
      this.#refuse(failure);
    } finally {
      this.saving = false;
    }
  }

  #put(assistant: Assistant): Promise<Version> {
    const params = { path: { id: this.id }, header: { "If-Match": this.etag } };
    return versioned(api.PUT("/assistants/{id}", { params, body: assistant })) as Promise<Version>;
  }

  #adopt(stored: Version, sent: Assistant): void {
    const untouched = same($state.snapshot(this.assistant), sent);
    this.stored = stored;
    if (untouched) this.assistant = editable(stored.content);
  }

  #refuse(failure: unknown): void {
    this.error = failure;
    if (failure instanceof ApiError && failure.violations.length > 0)
      this.findings = {
        warnings: [],
        template_findings: [],
        ...this.findings,
        valid: false,
        violations: [...failure.violations],
      };
  }

  #keepDraft(): void {
    const text = debounced(
      () => (this.changed ? { assistant: $state.snapshot(this.assistant), stored: this.stored } : null),
      DRAFT_AFTER_MILLISECONDS,
    );
    $effect(() => writeDraft(this.#draft, text.current));
  }

  #validate(): void {
    const body = debounced(() => $state.snapshot(this.assistant) as Assistant, VALIDATE_AFTER_MILLISECONDS);
    $effect(() => {
      const stop = new AbortController();
      data(api.POST("/assistants/validate", { body: body.current, signal: stop.signal })).then(
        (report) => {
          this.findings = report;
          this.#checkedTemplate = body.current.prompt_template;
        },
        () => {}, // the next change asks again, and saving finds the same faults
      );
      return () => stop.abort();
    });
  }
}
