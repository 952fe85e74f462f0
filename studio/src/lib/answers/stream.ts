/** Server-sent events of a streamed completion. */

const END = "[DONE]";
const DATA = /^data:[ ]?/;

/** The connection ended before the stream did. */
export class StreamCut extends Error {}

/** Yield the JSON value of each event, until the stream says that it is complete.
 *
 * Throws StreamCut: It ends without saying so.
 */
export async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<unknown> {
  let ended = false;
  for await (const line of lines(body)) {
    if (!DATA.test(line)) continue;
    const text = line.replace(DATA, "");
    if (text === END) {
      ended = true;
      break;
    }
    yield JSON.parse(text);
  }
  if (!ended) throw new StreamCut();
}

async function* lines(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await read(reader);
      if (done) break;
      const parts = (rest + value).split(/\r\n|\n|\r(?!$)/);
      rest = parts.pop() ?? "";
      yield* parts;
    }
  } finally {
    // The server stops as soon as nobody reads.
    void reader.cancel().catch(() => {});
  }
}

async function read(reader: ReadableStreamDefaultReader<string>): Promise<ReadableStreamReadResult<string>> {
  try {
    return await reader.read();
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new StreamCut();
  }
}
