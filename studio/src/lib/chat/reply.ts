/** A response of the server while it is made, as the events of its stream say it. */

import { type Answer, failure, type Report, type Status, type StreamError } from "#lib/answers/answer.ts";
import { answerOf, type Item } from "./items.ts";

export type ResponseStatus = "queued" | "in_progress" | "completed" | "incomplete" | "failed" | "cancelled";

/** What a response says beside its items. */
export interface Outcome {
  status: ResponseStatus;
  error: StreamError | null;
  /** Why it is incomplete. */
  reason: string;
  report: Report | null;
}

export interface Reply extends Outcome {
  /** Empty until the server has begun. */
  id: string;
  /** The number of the last event. */
  number: number;
  items: Item[];
  statuses: Status[];
}

/** The members of a response that the chat reads. */
export interface ResponseView {
  id: string;
  status: ResponseStatus;
  output: Item[];
  error?: StreamError | null;
  incomplete_details?: { reason?: string } | null;
  heddle?: { type: string; data: unknown }[];
}

interface StreamEvent {
  type: string;
  sequence_number: number;
  response?: ResponseView;
  item?: Item;
  item_id?: string;
  output_index?: number;
  delta?: string;
  event?: { type?: string; data?: Record<string, unknown> };
}

const ENDED: ReadonlySet<string> = new Set(["completed", "incomplete", "failed", "cancelled"]);

export const newReply = (): Reply => ({
  id: "",
  number: -1,
  items: [],
  statuses: [],
  status: "queued",
  error: null,
  reason: "",
  report: null,
});

export const hasEnded = ({ status }: Pick<Outcome, "status">): boolean => ENDED.has(status);

/** Return what a response says beside its items. */
export const outcomeOf = (response: ResponseView): Outcome => ({
  status: response.status,
  error: response.error ?? null,
  reason: response.incomplete_details?.reason ?? "",
  report: (response.heddle?.find(({ type }) => type === "report")?.data as Report | undefined) ?? null,
});

/** Add what an event says to a reply. */
export function add(reply: Reply, content: unknown, seconds: number): void {
  const event = content as StreamEvent;
  if (event.sequence_number <= reply.number) return; // sent again after a lost connection
  reply.number = event.sequence_number;
  const item = reply.items[event.output_index ?? -1];
  switch (event.type) {
    case "response.created":
      reply.id = event.response?.id ?? "";
      reply.status = "in_progress";
      break;
    case "response.in_progress":
      addStatus(reply, event, seconds);
      break;
    case "response.output_item.added":
    case "response.output_item.done":
      if (event.item) reply.items[event.output_index ?? reply.items.length] = event.item;
      break;
    case "response.output_text.delta":
      if (item) appendTo((item.content ??= []), "output_text", event.delta);
      break;
    case "response.reasoning_summary_text.delta":
      if (item) appendTo((item.summary ??= []), "summary_text", event.delta);
      break;
    default:
      if (event.response && hasEnded(event.response))
        Object.assign(reply, outcomeOf(event.response), { items: event.response.output });
  }
}

function appendTo(parts: { type?: string; text?: string }[], type: string, delta = ""): void {
  if (parts.length === 0) parts.push({ type, text: delta });
  else parts[0]!.text += delta;
}

function addStatus(reply: Reply, { event }: StreamEvent, seconds: number): void {
  const { description, action, hidden } = event?.data ?? {};
  if (event?.type !== "status" || hidden || !description) return;
  const kind = action === "heddle.warning" ? "warning" : "progress";
  reply.statuses.push({ text: String(description), seconds, kind });
}

/** Return a turn of the server as an answer, with what the response says of it if that is known. */
export function answered(items: readonly Item[], outcome: Outcome | undefined): Answer {
  const finish = outcome?.reason === "max_output_tokens" ? "length" : "";
  return { ...answerOf(items), report: outcome?.report ?? null, finish };
}

/** How the warning of the model that is part of Heddle begins. */
const DEMONSTRATION = "A demonstration model answers";

/** Return whether a warning says that the model that is part of Heddle has answered. */
export const isDemonstration = (warning: string): boolean => warning.startsWith(DEMONSTRATION);

/** Return whether a warning says that the assistant has spent nearly all that it may. */
export const isQuotaNear = (warning: string): boolean =>
  warning.startsWith("The quota of this assistant nears");

/** Return the error of a response that failed. */
export const errorOf = (outcome: Outcome): unknown =>
  outcome.status === "failed" ? failure(outcome.error ?? {}) : null;
