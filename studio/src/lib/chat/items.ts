/** The items of a conversation as turns: a question, and what answers it. */

import type { Attachment } from "#lib/answers/attachments.ts";
import { type Answer, emptyAnswer, type Source, type Waiting } from "#lib/answers/answer.ts";

/** The path of a conversation, and where it branches, follow from the item before each item. */
export interface Item {
  id: string;
  type: string;
  role?: string;
  status?: string;
  content?: Part[];
  /** Of reasoning. */
  summary?: { text?: string }[];
  /** Of a search in documents. */
  results?: Found[] | null;
  /** Of a search in the web. */
  action?: { sources?: { url?: string }[] };
  /** Of calls that the user is asked to approve. */
  name?: string;
  arguments?: string;
  /** Of the answer to such a question. */
  approval_request_id?: string;
  /** An image in base64. */
  result?: string;
  heddle?: About;
}

const APPROVAL_REQUEST = "mcp_approval_request";
const APPROVAL_RESPONSE = "mcp_approval_response";

export interface About {
  created_at: number;
  parent: string | null;
  response: string | null;
  feedback?: Feedback;
}

export interface Feedback {
  rating: number;
  text: string;
}

export interface Part {
  type: string;
  text?: string;
  image_url?: string;
  file_data?: string;
  filename?: string;
  annotations?: Annotation[];
}

interface Annotation {
  type: string;
  url?: string;
  title?: string;
  file_id?: string;
  filename?: string;
}

interface Found {
  file_id?: string;
  filename?: string;
  text?: string;
  score?: number | null;
  attributes?: { page?: number };
  vector_store_id?: string | null;
}

/** A use of a tool. Its name is empty for searches. */
export interface ToolUse {
  kind: "documents" | "web" | "tool";
  name: string;
  state: "running" | "done" | "failed";
}

export interface Turn {
  /** The same as long as the turn is shown. */
  key: string;
  /** Null if the conversation begins with an answer. */
  question: Item | null;
  answer: Item[];
  /** The last response of the turn; empty if a client added its items. */
  response: string;
  /** The questions that follow the same item, this one included: versions of the question. */
  versions: string[];
}

const KINDS: Readonly<Record<string, ToolUse["kind"]>> = {
  file_search_call: "documents",
  web_search_call: "web",
  mcp_call: "tool",
};
const parentOf = (item: Item): string => item.heddle?.parent ?? "";
const isQuestion = (item: Item): boolean => item.type === "message" && item.role === "user";

/** Return the newest item that follows one, at whatever distance; without `root` the newest of all.
 *
 * Args:
 *   items: In the order in which they were stored.
 */
export function newestAfter(items: readonly Item[], root = ""): string {
  if (!root) return items.at(-1)?.id ?? "";
  const under = new Set([root]);
  let last = root;
  for (const item of items)
    if (under.has(parentOf(item))) {
      under.add(item.id);
      last = item.id;
    }
  return last;
}

/** Return the turns up to an item, the oldest first. */
export function turnsTo(items: readonly Item[], last: string): Turn[] {
  const known = new Map(items.map((item) => [item.id, item]));
  const path: Item[] = [];
  for (let item = known.get(last); item; item = known.get(parentOf(item))) path.push(item);
  const versions = new Map<string, string[]>();
  for (const item of items.filter(isQuestion))
    versions.set(parentOf(item), [...(versions.get(parentOf(item)) ?? []), item.id]);
  const turns: Turn[] = [];
  for (const item of path.reverse()) {
    const response = item.heddle?.response ?? "";
    if (isQuestion(item)) {
      const others = versions.get(parentOf(item)) ?? [];
      turns.push({ key: response || item.id, question: item, answer: [], response, versions: others });
    } else if (item.type === "message" && item.role !== "assistant") continue;
    else if (turns.length === 0)
      turns.push({ key: item.id, question: null, answer: [item], response, versions: [] });
    else {
      turns.at(-1)!.answer.push(item);
      turns.at(-1)!.response = response || turns.at(-1)!.response;
    }
  }
  return turns;
}

/** Return whether the items of a turn do not say how it ended. */
export const isOpen = ({ answer }: Pick<Turn, "answer">): boolean =>
  !answer.some(({ type }) => type === "message" || type === APPROVAL_REQUEST) ||
  answer.at(-1)?.type === APPROVAL_RESPONSE ||
  answer.some(({ status }) => status !== undefined && status !== "completed" && status !== "failed");

/** Return what a user typed. */
export const textOf = (item: Item | null): string =>
  (item?.content ?? [])
    .flatMap((part) => (part.text && part.type !== "input_file" ? [part.text] : []))
    .join("\n");

/** Return the files of a question. The server stores documents as their texts. */
export const attachmentsOf = (question: Item | null): Attachment[] =>
  (question?.content ?? []).flatMap(({ image_url, file_data, filename = "" }) => {
    const url = image_url ?? file_data;
    return url ? [{ name: filename, url, picture: image_url !== undefined }] : [];
  });

/** Return the items of an answer in the form that an answer is shown in. */
export function answerOf(items: readonly Item[]): Answer {
  const parts = items.filter(({ type }) => type === "message").flatMap(({ content }) => content ?? []);
  return {
    ...emptyAnswer(),
    text: parts.map(({ text }) => text ?? "").join(""),
    reasoning: items
      .flatMap(({ summary }) => summary ?? [])
      .map(({ text }) => text ?? "")
      .join("\n"),
    images: items.flatMap(({ type, result }) =>
      type === "image_generation_call" && result ? [`data:image/png;base64,${result}`] : [],
    ),
    sources: sourcesOf(items),
    waiting: waitingCalls(items),
  };
}

function waitingCalls(items: readonly Item[]): Waiting[] {
  const answered = new Set(items.map(({ approval_request_id }) => approval_request_id));
  return items.flatMap(({ type, id, name = "", arguments: text = "{}" }) =>
    type === APPROVAL_REQUEST && !answered.has(id)
      ? [{ id, function: name, arguments: JSON.parse(text) as Waiting["arguments"], confirmation: "" }]
      : [],
  );
}

/** Return the passages that searches found, and then other sources that the answer names. */
function sourcesOf(items: readonly Item[]): Source[] {
  const found = items.flatMap(({ id, results }) =>
    (results ?? []).map((result, index) => ({ ...result, cited: `${id}/results/${index}/page` })),
  );
  const sources = found.map(
    ({ file_id, filename, text, score, attributes, vector_store_id, cited }): Source => ({
      title: filename ?? "",
      excerpt: text ?? "",
      origin: "",
      store: vector_store_id ?? "",
      file: file_id ?? "",
      page: attributes?.page ?? null,
      score: score ?? null,
      cited,
    }),
  );
  const names = new Set(sources.flatMap(({ title, file }) => [title, file]));
  for (const each of items
    .flatMap(({ content }) => content ?? [])
    .flatMap(({ annotations }) => annotations ?? [])) {
    const { url = "", filename = "", file_id = "", title = filename } = each;
    if ([url, file_id, title].some((name) => name && names.has(name))) continue;
    names.add(url || file_id || title);
    const none = { excerpt: "", store: "", file: "", page: null, score: null };
    sources.push({ title: title || url, origin: url, ...none });
  }
  return sources;
}

/** Return how tools were used for an answer. */
export const toolsOf = (items: readonly Item[]): ToolUse[] =>
  items.flatMap(({ type, name, status }) => {
    const kind = KINDS[type];
    if (!kind) return [];
    const state = status === "failed" ? "failed" : status === "completed" ? "done" : "running";
    return [{ kind, name: name ?? "", state }];
  });
