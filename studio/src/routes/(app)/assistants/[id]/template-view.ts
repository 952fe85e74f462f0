/** The text editor of a template. It is large, so it is loaded when it is shown. */

import { history, historyKeymap, standardKeymap } from "@codemirror/commands";
import { Compartment, EditorState, type Extension, Transaction } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  drawSelection,
  EditorView,
  keymap,
  MatchDecorator,
  placeholder,
  ViewPlugin,
  type ViewUpdate,
} from "@codemirror/view";

import type { Slot } from "./template.ts";

interface Options {
  text: string;
  label: string;
  placeholder: string;
  onchange: (text: string) => void;
}

/** The editor in a shadow root: there its styles are style sheets that the policy allows. */
export class TemplateView {
  readonly #view: EditorView;
  readonly #slots = new Compartment();
  readonly #label = new Compartment();
  readonly #completions = new Compartment();
  #complete: ((slots: readonly Slot[]) => Extension) | null = null;
  #known: readonly Slot[] = [];
  #text: string;

  constructor(root: ShadowRoot, options: Options) {
    this.#text = options.text;
    const changed = EditorView.updateListener.of((update) => {
      if (!update.docChanged) return;
      const text = update.state.doc.toString();
      if (text === this.#text) return;
      this.#text = text;
      options.onchange(text);
    });
    const extensions = [
      // Not "\r\n" too: nothing of the stored text may change unless the user changes it.
      EditorState.lineSeparator.of("\n"),
      history(),
      drawSelection(),
      EditorView.lineWrapping,
      // No binding of Tab, which leaves the editor.
      keymap.of([...historyKeymap, ...standardKeymap]),
      placeholder(options.placeholder),
      this.#slots.of([]),
      this.#completions.of([]),
      this.#label.of(labelled(options.label)),
      looks,
      changed,
      // Nobody completes before typing, and the library is large.
      // If it cannot be loaded, the next focus tries again.
      EditorView.domEventHandlers({ focus: () => void this.#loadCompletion().catch(() => {}) }),
    ];
    this.#view = new EditorView({
      state: EditorState.create({ doc: options.text, extensions }),
      parent: root,
      root,
    });
  }

  focus(): void {
    this.#view.focus();
  }

  destroy(): void {
    this.#view.destroy();
  }

  setLabel(label: string): void {
    this.#view.dispatch({ effects: this.#label.reconfigure(labelled(label)) });
  }

  /** Show a text that did not come from this editor. Undo leads back to the one before. */
  setText(text: string): void {
    if (text === this.#text) return;
    this.#text = text;
    this.#view.dispatch({ changes: { from: 0, to: this.#view.state.doc.length, insert: text } });
  }

  /** Mark and complete slots.
   *
   * Args:
   *   slots: The slots that something fills.
   *   notes: What is wrong with other slots.
   *   pattern: Matches slots.
   */
  setSlots(slots: readonly Slot[], notes: ReadonlyMap<string, string>, pattern: RegExp): void {
    this.#known = slots;
    const effects = [this.#slots.reconfigure(marks(slots, notes, pattern))];
    if (this.#complete) effects.push(this.#completions.reconfigure(this.#complete(slots)));
    this.#view.dispatch({ effects });
  }

  /** Put a text at the cursor, or in place of a range. */
  insert(text: string, range?: { from: number; to: number }): void {
    const change = range
      ? { changes: { ...range, insert: text }, selection: { anchor: range.from + text.length } }
      : this.#view.state.replaceSelection(text);
    const annotations = Transaction.userEvent.of("input.complete");
    this.#view.dispatch(this.#view.state.update(change, { annotations, scrollIntoView: true }));
    this.focus();
  }

  async #loadCompletion(): Promise<void> {
    if (this.#complete) return;
    const { completion } = await import("./template-completion.ts");
    this.#complete = completion;
    this.#view.dispatch({ effects: this.#completions.reconfigure(completion(this.#known)) });
  }

  select(from: number, to: number): void {
    this.#view.dispatch({ selection: { anchor: from, head: to }, scrollIntoView: true });
    this.focus();
  }
}

const labelled = (label: string): Extension =>
  EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "true" });

/** Mark the slots in what is visible. */
function marks(slots: readonly Slot[], notes: ReadonlyMap<string, string>, pattern: RegExp): Extension {
  const titles = new Map(slots.map(({ name, title }) => [name, title]));
  const matcher = new MatchDecorator({
    regexp: pattern,
    decoration: ([, name]) =>
      name === undefined
        ? null
        : Decoration.mark({
            class: titles.has(name) ? "slot" : "slot unknown",
            attributes: { title: notes.get(name) ?? titles.get(name) ?? "" },
          }),
  });
  class Marks {
    decorations: DecorationSet;
    constructor(view: EditorView) {
      this.decorations = matcher.createDeco(view);
    }
    update(update: ViewUpdate): void {
      this.decorations = matcher.updateDeco(update, this.decorations);
    }
  }
  return ViewPlugin.fromClass(Marks, { decorations: (plugin) => plugin.decorations });
}

const looks = EditorView.theme({
  "&": { fontSize: "1rem", color: "var(--color-ink)", backgroundColor: "var(--color-surface)" },
  "&.cm-focused": { outline: "2px solid var(--color-accent)", outlineOffset: "2px" },
  "&, .cm-scroller": { borderRadius: "var(--radius-sm)", maxHeight: "min(60vh, 40rem)" },
  ".cm-scroller": {
    border: "1px solid var(--color-control)",
    fontFamily: "var(--font-mono)",
    fontSize: "0.9375rem",
    lineHeight: "1.6",
  },
  ".cm-content": { minHeight: "9rem", padding: "0.5rem 0", caretColor: "var(--color-ink)" },
  ".cm-line": { padding: "0 0.625rem" },
  ".cm-cursor": { borderLeftColor: "var(--color-ink)" },
  ".cm-placeholder": { color: "var(--color-muted)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    background: "light-dark(#bcdfe6, #2b5660)",
  },
  ".slot": {
    borderRadius: "var(--radius-sm)",
    padding: "0.1em 0.15em",
    color: "var(--color-accent)",
    backgroundColor: "var(--color-accent-soft)",
  },
  ".slot.unknown": { color: "var(--color-warning)", backgroundColor: "var(--color-warning-soft)" },
  ".cm-tooltip": {
    border: "1px solid var(--color-line)",
    borderRadius: "var(--radius-sm)",
    backgroundColor: "var(--color-raised)",
    color: "var(--color-ink)",
    fontFamily: "var(--font-sans)",
    fontSize: "0.875rem",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "0.35rem 0.75rem" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--color-accent)",
    color: "var(--color-on-accent)",
  },
  ".cm-completionDetail": { fontStyle: "normal", fontFamily: "var(--font-sans)" },
});
