/** An answer of an assistant. */

import { ApiError, type Violation } from "#lib/api/errors.ts";
import type { components } from "#lib/api/schema.d.ts";

type Schemas = components["schemas"];
export type Trace = Schemas["Trace"];
export type TraceStep = Schemas["TraceStep"];
export type TraceSlot = Schemas["TraceSlot"];
export type Report = Schemas["RunReport"];

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
  /** The collection and the document that it is a page of; empty if unknown. */
  store: string;
  file: string;
  /** Counted from 1; null if unknown. */
  page: number | null;
  /** Where the conversation has the picture of that page, for those who may not read the collection. */
  cited?: string;
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
  /** What is sent back to confirm a call of a chat completion. */
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
  waiting: Waiting[];
  totalTokens: number | null;
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
  waiting: [],
  totalTokens: null,
});

/** Return whether the model ended before its answer did. */
export const isCut = ({ finish }: Answer): boolean => finish === "length";

/** Return what the user has to confirm if a call asks for it. */
export function waiting(call: Call): Waiting[] {
  if (call.function?.name !== CONFIRM) return [];
  const asked = question(call.function.arguments ?? "");
  return [
    {
      id: call.id ?? "",
      function: asked.function ?? "",
      arguments: asked.arguments ?? {},
      confirmation: asked.confirmation ?? "",
    },
  ];
}

function question(text: string): Partial<Waiting> {
  try {
    return JSON.parse(text) as Partial<Waiting>;
  } catch {
    return {};
  }
}

/** What the server says about a run that failed. */
export interface StreamError {
  message?: string;
  code?: string | null;
  param?: string | null;
  violations?: Violation[];
  documentation_url?: string;
}

/** Return the error that ends a stream. Its message contains the request id. */
export function failure(error: StreamError): ApiError {
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
