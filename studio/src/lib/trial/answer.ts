/** An answer of an assistant, as the chunks of its stream say it. */

import { ApiError, type Violation } from "#lib/api/errors.ts";
import type { components } from "#lib/api/schema.d.ts";
import { t } from "#lib/i18n/index.svelte.ts";

type Schemas = components["schemas"];
export type Trace = Schemas["Trace"];
export type TraceStep = Schemas["TraceStep"];
export type TraceSlot = Schemas["TraceSlot"];
export type Report = Schemas["RunReport"];

/** The line of progress that the server writes when all tools have ended. */
const MERGING = "merging tool outputs";

/** A line of progress. */
export interface Status {
  text: string;
  /** Seconds since the question was sent. */
  seconds: number;
  kind: "progress" | "warning";
}

export interface Source {
  title: string;
  excerpt: string;
  /** A web address, or the name of a document. */
  origin: string;
  /** Counted from 1; null if unknown. */
  page: number | null;
  score: number | null;
}

/** A call of the client, as OpenAI's protocol has it. */
export interface Call {
  id?: string;
  type?: string;
  function?: { name?: string; arguments?: string };
}

/** A call of a tool that waits until the user confirms it. */
export interface Waiting {
  /** Of the call that asks. */
  id: string;
  function: string;
  arguments: Record<string, unknown>;
  /** What is sent back to confirm it. */
  confirmation: string;
}

export interface Answer {
  text: string;
  reasoning: string;
  statuses: Status[];
  sources: Source[];
  /** Generated images as `data:` URLs. */
  images: string[];
  report: Report | null;
  trace: Trace | null;
  /** Why the model ended, for example `length`; empty until it did. */
  finish: string;
  /** Functions of the client that the model wants to be called. */
  calls: Call[];
  totalTokens: number | null;
}

interface Chunk {
  choices?: {
    delta?: {
      content?: string | null;
      reasoning_content?: string | null;
      images?: { image_url?: { url?: string } }[];
      tool_calls?: (Call & { index?: number })[];
    };
    finish_reason?: string | null;
  }[];
  event?: { type?: string; data?: Record<string, unknown> };
  heddle?: { type?: string; data?: unknown };
  usage?: { total_tokens?: number } | null;
  error?: {
    message?: string;
    code?: string | null;
    param?: string | null;
    violations?: Violation[];
    documentation_url?: string;
  };
}

interface SourceGroup {
  document?: string[];
  metadata?: { source?: string; name?: string; page?: number }[];
  distances?: number[];
}

const CONFIRM = "heddle_confirm";
const REQUEST_ID = /\(request (req_\w+)\)/;

export const emptyAnswer = (): Answer => ({
  text: "",
  reasoning: "",
  statuses: [],
  sources: [],
  images: [],
  report: null,
  trace: null,
  finish: "",
  calls: [],
  totalTokens: null,
});

/** Add what a chunk says to an answer.
 *
 * Throws ApiError: The chunk says that the run failed.
 */
export function add(answer: Answer, content: unknown, seconds: number): void {
  const chunk = content as Chunk;
  if (chunk.error) throw failure(chunk.error);
  const choice = chunk.choices?.[0];
  answer.text += choice?.delta?.content ?? "";
  answer.reasoning += choice?.delta?.reasoning_content ?? "";
  for (const { image_url } of choice?.delta?.images ?? [])
    if (image_url?.url) answer.images.push(image_url.url);
  for (const { index: _, ...call } of choice?.delta?.tool_calls ?? [])
    if (call.function?.name) answer.calls.push(call);
  if (choice?.finish_reason) answer.finish = choice.finish_reason;
  if (chunk.usage?.total_tokens) answer.totalTokens = chunk.usage.total_tokens;
  if (chunk.event) addEvent(answer, chunk.event, seconds);
  if (chunk.heddle?.type === "report") answer.report = chunk.heddle.data as Report;
  if (chunk.heddle?.type === "trace") answer.trace = chunk.heddle.data as Trace;
}

/** Return whether the model ended before its answer did. */
export const isCut = ({ finish }: Answer): boolean => finish === "length";

/** Return the calls of an answer that the user has to confirm. */
export function waiting({ calls }: Answer): Waiting[] {
  return calls.flatMap((call) => {
    if (call.function?.name !== CONFIRM) return [];
    const asked = question(call.function.arguments ?? "");
    return {
      id: call.id ?? "",
      function: asked.function ?? "",
      arguments: asked.arguments ?? {},
      confirmation: asked.confirmation ?? "",
    };
  });
}

function question(text: string): Partial<Waiting> {
  try {
    return JSON.parse(text) as Partial<Waiting>;
  } catch {
    return {};
  }
}

function addEvent(answer: Answer, { type, data = {} }: NonNullable<Chunk["event"]>, seconds: number): void {
  if (type === "status" && !data["hidden"]) {
    const kind = data["action"] === "heddle.warning" ? "warning" : "progress";
    const description = String(data["description"] ?? "");
    const text = description === MERGING ? t("trial.merging") : description;
    answer.statuses.push({ text, seconds, kind });
  }
  if (type === "source") answer.sources.push(...sources(data));
}

function sources({ document = [], metadata = [], distances }: SourceGroup): Source[] {
  return document.map((excerpt, index) => {
    const { source = "", name = "", page } = metadata[index] ?? {};
    return {
      title: name || source,
      excerpt,
      origin: source,
      page: page === undefined ? null : page + 1,
      score: distances?.[index] ?? null,
    };
  });
}

/** Return the error that ends a stream. Its message contains the request id. */
function failure(error: NonNullable<Chunk["error"]>): ApiError {
  const message = error.message ?? "";
  const id = REQUEST_ID.exec(message)?.[1] ?? "";
  // The status is that of a failure that came late; whether it is temporary is not known.
  return new ApiError(
    message.replace(REQUEST_ID, "").trim(),
    500,
    error.code ?? "",
    error.param ?? "",
    error.violations ?? [],
    id,
    0,
    {},
    error.documentation_url ?? "",
  );
}
