/** The chunks of a streamed completion, as parts of an answer. */

import {
  type Answer,
  type Call,
  failure,
  type Report,
  type Source,
  type StreamError,
  type Trace,
  waiting,
} from "#lib/answers/answer.ts";

/** Where lines of progress are about no single tool. */
const RUN = "heddle.run";

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
  error?: StreamError;
}

interface SourceGroup {
  document?: string[];
  metadata?: { source?: string; name?: string; page?: number }[];
  distances?: number[];
}

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
  for (const { index: _, ...call } of choice?.delta?.tool_calls ?? []) {
    if (!call.function?.name) continue;
    answer.calls.push(call);
    answer.waiting.push(...waiting(call));
  }
  if (choice?.finish_reason) answer.finish = choice.finish_reason;
  if (chunk.usage?.total_tokens) answer.totalTokens = chunk.usage.total_tokens;
  if (chunk.event) addEvent(answer, chunk.event, seconds);
  if (chunk.heddle?.type === "report") answer.report = chunk.heddle.data as Report;
  if (chunk.heddle?.type === "trace") answer.trace = chunk.heddle.data as Trace;
}

function addEvent(answer: Answer, { type, data = {} }: NonNullable<Chunk["event"]>, seconds: number): void {
  // The line that ends the progress says what the report says.
  const ends = data["action"] === RUN && data["done"] === true;
  if (type === "status" && !data["hidden"] && !ends) {
    const kind = data["action"] === "heddle.warning" ? "warning" : "progress";
    answer.statuses.push({ text: String(data["description"] ?? ""), seconds, kind });
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
      store: "",
      file: "",
      page: page === undefined ? null : page + 1,
      score: distances?.[index] ?? null,
    };
  });
}
