/** The answers of one or two assistants to the same questions. */

import { ask, newTurn, trialOf, type Turn } from "#lib/trial/ask.ts";
import type { SavedQuestion } from "#lib/trial/saved-questions.svelte.ts";
import type { Tried } from "#lib/trial/tried.ts";

/** What answers: an assistant, and how it is called here. */
export interface Side {
  label: string;
  assistant: Tried;
}

interface Row {
  question: SavedQuestion;
  /** The answer of each side. */
  turns: Turn[];
}

export class Comparison {
  sides: readonly Side[] = $state.raw([]);
  rows: Row[] = $state([]);
  running = $state(false);
  #stop = new AbortController();

  /** Ask one question after the other; both sides answer at the same time. */
  async run(questions: readonly SavedQuestion[], sides: readonly Side[]): Promise<void> {
    this.#stop = new AbortController();
    const { signal } = this.#stop;
    [this.sides, this.rows, this.running] = [sides, [], true];
    try {
      for (const question of questions) {
        if (signal.aborted) break;
        this.rows.push({ question, turns: sides.map(() => newTurn(question.text)) });
        const { turns } = this.rows.at(-1)!; // the proxy, so that the screen follows
        await Promise.all(turns.map((turn, index) => ask([turn], trialOf(sides[index]!.assistant), signal)));
      }
    } finally {
      this.running = false;
    }
  }

  stop(): void {
    this.#stop.abort();
  }
}

/** Return whether all sides gave the same answer. */
export const isSame = ({ turns }: Row): boolean =>
  turns.length > 1 &&
  turns.every((each) => each.state === "complete" && each.answer.text === turns[0]!.answer.text);
