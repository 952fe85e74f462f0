/** Asks an assistant one question of a conversation, and follows the answer. */

import { send } from "#lib/api/client.ts";
import type { Attachment } from "#lib/answers/attachments.ts";
import { type Answer, emptyAnswer, type Waiting } from "#lib/answers/answer.ts";
import { events, StreamCut } from "#lib/answers/stream.ts";
import { add } from "./chunks.ts";

export interface Turn {
  question: string;
  attachments: Attachment[];
  answer: Answer;
  /** The calls that the user confirmed or declined before the answer. */
  decided: Decided[];
  /** The messages between the question and the answer. */
  between: Message[];
  /** Whether the answer is whole, still comes, was stopped by the user, or ended early. */
  state: "running" | "complete" | "stopped" | "cut" | "failed";
  error: unknown;
  /** From the question to the first part of the text, and to the end. */
  firstSeconds: number | null;
  seconds: number | null;
}

/** A call that the user confirmed, or declined. */
export type Decided = Waiting & { confirmed: boolean };

/** Where questions are sent, and what is sent with them. */
export interface Target {
  path: string;
  body: Record<string, unknown>;
}

interface Message {
  role: "user" | "assistant" | "tool";
  content: unknown;
  tool_calls?: unknown;
  tool_call_id?: string;
}

const MILLISECONDS = 1000;

export const newTurn = (question: string, attachments: Attachment[] = []): Turn => ({
  question,
  attachments,
  answer: emptyAnswer(),
  decided: [],
  between: [],
  state: "running",
  error: null,
  firstSeconds: null,
  seconds: null,
});

/** Return where an assistant that is not stored answers, with a trace. */
export const trialOf = (assistant: unknown): Target => ({
  path: "/assistants/try",
  body: { assistant, trace: true, stream_options: { include_usage: true } },
});

/** Let the user's decision about the calls that wait follow the answer of a turn. */
export function decide(turn: Turn, confirmed: boolean): void {
  const calls = turn.answer.waiting;
  turn.decided.push(...calls.map((call) => ({ ...call, confirmed })));
  turn.between.push(
    { role: "assistant", content: turn.answer.text || null, tool_calls: turn.answer.calls },
    ...calls.map(({ id, confirmation }): Message => ({
      role: "tool",
      tool_call_id: id,
      content: confirmed ? confirmation : "declined",
    })),
  );
  Object.assign(turn, { answer: emptyAnswer(), state: "running", error: null });
}

/** Ask the question of the last turn, and add to it what comes. Its state tells how it ended. */
export async function ask(turns: readonly Turn[], target: Target, signal: AbortSignal): Promise<void> {
  const turn = turns.at(-1)!;
  const start = performance.now();
  const elapsed = (): number => (performance.now() - start) / MILLISECONDS;
  try {
    const response = await send(request(turns, target, signal));
    if (response.body === null) throw new StreamCut();
    for await (const chunk of events(response.body)) {
      add(turn.answer, chunk, elapsed());
      if (turn.answer.text) turn.firstSeconds ??= elapsed();
    }
    turn.state = "complete";
  } catch (error) {
    turn.state = signal.aborted ? "stopped" : error instanceof StreamCut ? "cut" : "failed";
    turn.error = turn.state === "failed" ? error : null;
  } finally {
    turn.seconds = elapsed();
  }
}

function request(turns: readonly Turn[], { path, body }: Target, signal: AbortSignal): Request {
  return new Request(path, {
    method: "POST",
    body: JSON.stringify({ ...body, messages: messages(turns), stream: true }),
    headers: { "content-type": "application/json", accept: "text/event-stream" },
    credentials: "same-origin",
    signal,
  });
}

function messages(turns: readonly Turn[]): Message[] {
  return turns.flatMap((turn, index) => {
    const asked: Message = { role: "user", content: content(turn) };
    if (index === turns.length - 1) return [asked, ...turn.between];
    return [asked, ...turn.between, { role: "assistant", content: turn.answer.text }];
  });
}

function content({ question, attachments }: Turn): unknown {
  if (attachments.length === 0) return question;
  const files = attachments.map(({ name, url, picture }) =>
    picture
      ? { type: "image_url", image_url: { url } }
      : { type: "file", file: { filename: name, file_data: url } },
  );
  return [{ type: "text", text: question }, ...files];
}
