/** A conversation with an assistant: questions, answers, and what runs now. */

import { send } from "#lib/api/client.ts";
import { readDraft, writeDraft } from "#lib/draft.svelte.ts";
import { add, type Answer, emptyAnswer } from "./answer.ts";
import { events, StreamCut } from "./stream.ts";

/** A picture that the user added to a question, as a `data:` URL. */
export interface Picture {
  name: string;
  url: string;
}

export interface Turn {
  question: string;
  pictures: Picture[];
  answer: Answer;
  /** Whether the answer is whole, still comes, was stopped by the user, or ended early. */
  state: "running" | "complete" | "stopped" | "cut" | "failed";
  error: unknown;
  /** From the question to the first part of the text, and to the end. */
  firstSeconds: number | null;
  seconds: number | null;
}

/** Where questions are sent, and what is sent with them. */
export interface Target {
  path: string;
  body: Record<string, unknown>;
}

interface Message {
  role: "user" | "assistant";
  content: unknown;
}

const MILLISECONDS = 1000;

export class Conversation {
  turns: Turn[] = $state([]);
  /** What is typed and not sent. */
  question = $state("");
  pictures: Picture[] = $state.raw([]);
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
    if (this.running || (!text && this.pictures.length === 0)) return;
    const turn = newTurn(text, this.pictures);
    this.turns.push(turn);
    this.question = "";
    this.pictures = [];
    await this.#run(this.turns.length - 1);
  }

  /** Ask the last question again. */
  async again(): Promise<void> {
    const last = this.turns.at(-1);
    if (!last || this.running) return;
    this.turns[this.turns.length - 1] = newTurn(last.question, last.pictures);
    await this.#run(this.turns.length - 1);
  }

  /** Put the last question back into the box, to change it. */
  change(): void {
    const last = this.turns.at(-1);
    if (!last || this.running) return;
    this.turns.pop();
    this.question = last.question;
    this.pictures = last.pictures;
  }

  stop(): void {
    this.#stop?.abort();
  }

  clear(): void {
    this.stop();
    this.turns = [];
  }

  async #run(index: number): Promise<void> {
    const turn = this.turns[index]!; // the proxy, so that the screen follows
    const stop = new AbortController();
    this.#stop = stop;
    const start = performance.now();
    const elapsed = (): number => (performance.now() - start) / MILLISECONDS;
    try {
      const response = await send(this.#request(stop.signal));
      if (response.body === null) throw new StreamCut();
      for await (const chunk of events(response.body)) {
        add(turn.answer, chunk, elapsed());
        if (turn.answer.text) turn.firstSeconds ??= elapsed();
      }
      turn.state = "complete";
    } catch (error) {
      turn.state = stop.signal.aborted ? "stopped" : error instanceof StreamCut ? "cut" : "failed";
      turn.error = turn.state === "failed" ? error : null;
    } finally {
      turn.seconds = elapsed();
    }
  }

  #request(signal: AbortSignal): Request {
    const { path, body } = this.target();
    const content = JSON.stringify({ ...body, messages: this.#messages(), stream: true });
    return new Request(path, {
      method: "POST",
      body: content,
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      credentials: "same-origin",
      signal,
    });
  }

  #messages(): Message[] {
    return this.turns.flatMap((turn, index) => {
      const asked: Message = { role: "user", content: content(turn) };
      if (index === this.turns.length - 1) return [asked];
      return [asked, { role: "assistant", content: turn.answer.text }];
    });
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

const newTurn = (question: string, pictures: Picture[]): Turn => ({
  question,
  pictures,
  answer: emptyAnswer(),
  state: "running",
  error: null,
  firstSeconds: null,
  seconds: null,
});

/** Return a turn as it is after the page was loaded again: nothing runs any more. */
const interrupted = (turn: Turn): Turn => (turn.state === "running" ? { ...turn, state: "cut" } : turn);

/** Errors are objects that JSON does not hold, and a trace may be large. */
const withoutTrace = (turn: Turn): Turn => ({
  ...turn,
  state: turn.state === "failed" ? "cut" : turn.state,
  error: null,
  answer: { ...turn.answer, trace: null },
});

function content({ question, pictures }: Turn): unknown {
  if (pictures.length === 0) return question;
  const images = pictures.map(({ url }) => ({ type: "image_url", image_url: { url } }));
  return [{ type: "text", text: question }, ...images];
}
