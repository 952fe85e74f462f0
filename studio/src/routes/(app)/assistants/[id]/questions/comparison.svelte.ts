/** The answers of several assistants to the same questions, and the facts that they contain. */

import { ask, newTurn, trialOf, type Turn } from "#lib/trial/ask.ts";
import type { SavedQuestion } from "#lib/trial/saved-questions.svelte.ts";
import type { Tried } from "#lib/trial/tried.ts";
import { byModel, byWords, factsOf } from "./scores.ts";

/** What answers: an assistant, and how it is called here. */
export interface Side {
  label: string;
  assistant: Tried;
}

export interface Row {
  question: SavedQuestion;
  facts: string[];
  /** The answer of each side. */
  turns: Turn[];
  /** For each side, whether its answer contains each fact; null if that is not known. */
  contained: (boolean[] | null)[];
}

export class Comparison {
  sides: readonly Side[] = $state.raw([]);
  rows: Row[] = $state([]);
  running = $state(false);
  #stop = new AbortController();

  /** Ask one question after the other; all sides answer at the same time.
   *
   * Args:
   *   judge: The model that finds facts in answers; null to compare words.
   */
  async run(
    questions: readonly SavedQuestion[],
    sides: readonly Side[],
    judge: Tried["model"] | null,
  ): Promise<void> {
    this.#stop = new AbortController();
    const { signal } = this.#stop;
    [this.sides, this.rows, this.running] = [sides, [], true];
    try {
      for (const question of questions) {
        if (signal.aborted) break;
        const facts = factsOf(question);
        const turns = sides.map(() => newTurn(question.text));
        this.rows.push({ question, facts, turns, contained: sides.map(() => null) });
        const row = this.rows.at(-1)!; // the proxy, so that the screen follows
        const answered = row.turns.map(async (turn, index) => {
          await ask([turn], trialOf(sides[index]!.assistant), signal);
          if (facts.length === 0 || turn.state !== "complete") return;
          row.contained[index] = judge
            ? await byModel(judge, turn, facts, signal)
            : byWords(facts, turn.answer.text);
        });
        await Promise.all(answered);
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
