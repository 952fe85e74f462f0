/** A conversation with an assistant: questions, answers, and what runs now. */

import type { Attachment } from "#lib/answers/attachments.ts";
import { readDraft, writeDraft } from "#lib/draft.svelte.ts";
import { ask, decide, newTurn, type Target, type Turn } from "./ask.ts";

export class Conversation {
  turns: Turn[] = $state([]);
  /** What is typed and not sent. */
  question = $state("");
  attachments: readonly Attachment[] = $state.raw([]);
  readonly running: boolean = $derived.by(() => this.turns.at(-1)?.state === "running");
  #stop: AbortController | null = null;

  /** Args:
   *   name: Of the drafts that keep the conversation when the page is loaded again.
   *   target: Returns where to send a question.
   */
  constructor(
    name: string,
    readonly target: () => Target,
  ) {
    const [turns, question] = [`conversation.${name}`, `question.${name}`];
    this.question = readDraft<string>(question) ?? "";
    this.turns = (readDraft<Turn[]>(turns) ?? []).map(interrupted);
    $effect(() => writeDraft(question, this.question || null));
    // Not at each piece of an answer: only when it ends.
    $effect(() => {
      if (!this.running) keep(turns, $state.snapshot(this.turns) as Turn[]);
    });
    $effect(() => () => this.stop());
  }

  /** Send what is typed. It stays in the box if nothing can be sent. */
  async ask(): Promise<void> {
    const text = this.question.trim();
    if (this.running || (!text && this.attachments.length === 0)) return;
    const turn = newTurn(text, [...this.attachments]);
    this.question = "";
    this.attachments = [];
    this.turns.push(turn);
    await this.#run();
  }

  /** Ask the last question again. */
  async again(): Promise<void> {
    const last = this.turns.at(-1);
    if (!last || this.running) return;
    this.turns[this.turns.length - 1] = newTurn(last.question, last.attachments);
    await this.#run();
  }

  /** Confirm or decline the calls that wait in the last answer, and go on. */
  async decide(confirmed: boolean): Promise<void> {
    const last = this.turns.at(-1);
    if (!last || this.running) return;
    decide(last, confirmed);
    await this.#run();
  }

  /** Put the last question back into the box, to change it. */
  change(): void {
    const last = this.turns.at(-1);
    if (!last || this.running) return;
    this.turns.pop();
    this.question = last.question;
    this.attachments = last.attachments;
  }

  stop(): void {
    this.#stop?.abort();
  }

  clear(): void {
    this.stop();
    this.turns = [];
  }

  async #run(): Promise<void> {
    this.#stop = new AbortController();
    await ask(this.turns, this.target(), this.#stop.signal);
  }
}

/** Store turns for the time after a reload. */
function keep(name: string, turns: Turn[]): void {
  try {
    writeDraft(name, turns.length > 0 ? turns.map(withoutTrace) : null);
  } catch {
    // The browser stores a few megabytes. The conversation goes on, but not after a reload.
    writeDraft(name, null);
  }
}

/** Return a turn as it is after the page was loaded again: nothing runs any more. */
const interrupted = (stored: Turn): Turn => {
  const turn = { ...newTurn(""), ...stored };
  return turn.state === "running" ? { ...turn, state: "cut" } : turn;
};

/** Errors are objects that JSON does not hold, and a trace may be large. */
const withoutTrace = (turn: Turn): Turn => ({
  ...turn,
  state: turn.state === "failed" ? "cut" : turn.state,
  error: null,
  answer: { ...turn.answer, trace: null },
});
