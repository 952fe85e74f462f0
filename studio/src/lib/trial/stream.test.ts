import { expect, test } from "vitest";

import { emptyAnswer } from "#lib/answers/answer.ts";
import { events, StreamCut } from "#lib/answers/stream.ts";
import { add } from "./chunks.ts";

const STREAM =
  ": a comment\n" +
  'data: {"choices":[{"delta":{"content":"Warp 🧵 "}}]}\n\n' +
  'data: {"choices":[{"delta":{"content":"and weft"}}],"event":{"type":"status","data":{"description":"weaving"}}}\r\n\r\n' +
  'data: {"choices":[{"delta":{},"finish_reason":"stop"}],"heddle":{"type":"report","data":{"request_id":"r","tools":[],"warnings":[]}}}\n\n' +
  "data: [DONE]\n\n";
const BYTES = new TextEncoder().encode(STREAM);

function stream(...parts: Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}

async function read(
  body: ReadableStream<Uint8Array>,
): Promise<{ text: string; cut: boolean; finish: string }> {
  const answer = emptyAnswer();
  let cut = false;
  try {
    for await (const chunk of events(body)) add(answer, chunk, 0);
  } catch (error) {
    if (!(error instanceof StreamCut)) throw error;
    cut = true;
  }
  return { text: answer.text, cut, finish: answer.finish };
}

test("wherever the bytes are divided, the answer is the same", async () => {
  for (let at = 0; at <= BYTES.length; at++) {
    const whole = await read(stream(BYTES.slice(0, at), BYTES.slice(at)));
    expect(whole).toEqual({ text: "Warp 🧵 and weft", cut: false, finish: "stop" });
  }
});

test("wherever the stream is cut, what came is there, and the cut is noticed", async () => {
  const end = STREAM.indexOf("data: [DONE]");
  for (let at = 0; at < new TextEncoder().encode(STREAM.slice(0, end)).length; at++) {
    const { text, cut } = await read(stream(BYTES.slice(0, at)));
    expect(cut).toBe(true);
    expect("Warp 🧵 and weft".startsWith(text)).toBe(true);
  }
});

test("an error in a stream has its message, its code and the request id", async () => {
  const body = new TextEncoder().encode(
    'data: {"error":{"message":"The provider is down. (request req_1a)","code":"provider_error",' +
      '"documentation_url":"/errors#upstream-unavailable"}}\n\n',
  );
  await expect(read(stream(body))).rejects.toMatchObject({
    message: "The provider is down.",
    code: "provider_error",
    requestId: "req_1a",
    documentationUrl: "/errors#upstream-unavailable",
  });
});
