import { expect, test } from "vitest";

import { byPeriod } from "./days.ts";
import { asMarkdown, fileName } from "./export.ts";
import { answerOf, isOpen, type Item, newestAfter, toolsOf, turnsTo } from "./items.ts";
import { add, answered, errorOf, hasEnded, newReply, outcomeOf } from "./reply.ts";

const item = (id: string, parent: string, role: string, response = "", more: object = {}): Item => ({
  id,
  type: "message",
  role,
  status: "completed",
  content: [{ type: role === "user" ? "input_text" : "output_text", text: id }],
  heddle: { created_at: 1, parent: parent || null, response: response || null },
  ...more,
});
/** Two versions of the first question; the second one goes on. */
const ITEMS = [
  item("q1", "", "user", "r1"),
  item("a1", "q1", "assistant", "r1"),
  item("q2", "", "user", "r2"),
  item("a2", "q2", "assistant", "r2"),
  item("q3", "a2", "user", "r3"),
  item("a3", "q3", "assistant", "r3"),
];

test("turns follow the branch of the last item, and know the versions of their question", () => {
  expect(newestAfter(ITEMS)).toBe("a3");
  expect(newestAfter(ITEMS, "q1")).toBe("a1");
  expect(newestAfter(ITEMS, "q2")).toBe("a3");
  const turns = turnsTo(ITEMS, "a3");
  expect(turns.map(({ question, response }) => [question?.id, response])).toEqual([
    ["q2", "r2"],
    ["q3", "r3"],
  ]);
  expect(turns.map(({ versions }) => versions)).toEqual([["q1", "q2"], ["q3"]]);
  expect(turnsTo(ITEMS, "a1").map(({ question }) => question?.id)).toEqual(["q1"]);
  expect(turnsTo(ITEMS, "")).toEqual([]);
});

test("a turn is open until its answer says how it ended", () => {
  expect(isOpen({ answer: [] })).toBe(true);
  expect(isOpen({ answer: [ITEMS[1]!] })).toBe(false);
  expect(isOpen({ answer: [{ ...ITEMS[1]!, status: "incomplete" }] })).toBe(true);
});

test("an answer has the sources of searches with their pages, and others that it names", () => {
  const found = { file_id: "doc_1", filename: "A.pdf", text: "Weft.", score: 1, attributes: { page: 2 } };
  const search: Item = {
    id: "fs",
    type: "file_search_call",
    status: "completed",
    results: [{ ...found, vector_store_id: "vs_1" }],
  };
  const failed: Item = { id: "m", type: "mcp_call", name: "glossary", status: "failed" };
  const annotations = [
    { type: "file_citation", file_id: "A.pdf", filename: "A.pdf" },
    { type: "url_citation", url: "https://example.org", title: "Web" },
  ];
  const message = item("a", "q", "assistant", "r", {
    content: [{ type: "output_text", text: "x", annotations }],
  });
  const { sources, text } = answerOf([search, failed, message]);
  expect(text).toBe("x");
  expect(sources.map(({ title, page, store, origin }) => [title, page, store, origin])).toEqual([
    ["A.pdf", 2, "vs_1", ""],
    ["Web", null, "", "https://example.org"],
  ]);
  expect(toolsOf([search, failed]).map(({ kind, state }) => [kind, state])).toEqual([
    ["documents", "done"],
    ["tool", "failed"],
  ]);
});

const EVENTS = [
  { type: "response.created", response: { id: "r1", status: "in_progress" } },
  { type: "response.in_progress", event: { type: "status", data: { description: "looking" } } },
  { type: "response.output_item.added", output_index: 0, item: { id: "a", type: "message", content: [] } },
  { type: "response.output_text.delta", output_index: 0, delta: "Wa" },
  { type: "response.output_text.delta", output_index: 0, delta: "rp" },
].map((event, sequence_number) => ({ ...event, sequence_number }));

test("events make a reply, and those that come again change nothing", () => {
  const reply = newReply();
  for (const event of [...EVENTS, ...EVENTS.slice(2)]) add(reply, structuredClone(event), 0);
  expect([reply.id, reply.number, hasEnded(reply)]).toEqual(["r1", 4, false]);
  expect(answered(reply.items, undefined).text).toBe("Warp");
  expect(reply.statuses.map(({ text }) => text)).toEqual(["looking"]);
  const error = { code: "server_error", message: "Down. (request req_1a)" };
  const response = { id: "r1", status: "failed", output: reply.items, error };
  add(reply, { type: "response.failed", sequence_number: 5, response }, 0);
  expect(errorOf(reply)).toMatchObject({ message: "Down.", requestId: "req_1a" });
  expect(answered(reply.items, undefined).text).toBe("Warp");
});

test("a response that was cut says so", () => {
  const response = { id: "r", status: "incomplete" as const, output: [] };
  const outcome = outcomeOf({ ...response, incomplete_details: { reason: "max_output_tokens" } });
  expect(answered([], outcome).finish).toBe("length");
  expect(errorOf(outcome)).toBeNull();
});

test("conversations are grouped by the days of the user", () => {
  const now = new Date(2026, 10, 30, 12);
  const at = (days: number, hour: number): number => new Date(2026, 10, 30 - days, hour).getTime() / 1000;
  const list = [
    { pinned: true, updated_at: at(90, 1) },
    { updated_at: at(0, 0) },
    { updated_at: at(1, 23) },
    { updated_at: at(6, 1) },
    { updated_at: at(7, 23) },
  ];
  expect(byPeriod(list, now).map(([period]) => period)).toEqual([
    "pinned",
    "today",
    "yesterday",
    "week",
    "earlier",
  ]);
  expect(byPeriod([], now)).toEqual([]);
});

test("a conversation is saved as Markdown", () => {
  const names = { you: "Question", assistant: "Tutor", sources: "Sources" };
  expect(asMarkdown("Looms", turnsTo(ITEMS, "a1"), names)).toBe(
    "# Looms\n\n## Question\n\nq1\n\n## Tutor\n\na1\n",
  );
  expect(fileName("Was ist ein Schäft? / 2")).toBe("Was-ist-ein-Schäft-2");
  expect(fileName("???")).toBe("conversation");
});
