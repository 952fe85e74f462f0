/** An answer while it is made: reads its events, and finds them again after a lost connection. */

import { ApiError, UNREACHABLE } from "#lib/api/errors.ts";
import { events, StreamCut } from "#lib/answers/stream.ts";
import { followResponse } from "./api.ts";
import type { Item } from "./items.ts";
import { add, hasEnded, type Reply } from "./reply.ts";

const MILLISECONDS = 1_000;
const MAX_PAUSE_SECONDS = 15;

/** A turn whose answer is being made, or could not be begun. */
export interface Live {
  question: Item;
  /** Items of the same turn that were there before: a call that waited for the user. */
  before: Item[];
  reply: Reply;
  /** Of `performance.now()`. */
  begun: number;
  state: "running" | "lost" | "refused";
  error: unknown;
}

/** Return whether no response came, or not all of it. */
export const isLost = (error: unknown): boolean =>
  error instanceof StreamCut || (error instanceof ApiError && error.status === UNREACHABLE);

/** Read the events of a response until it has ended.
 *
 * Args:
 *   begun: Called with the identifier of the response when it is known.
 *
 * Throws StreamCut: The connection is lost before.
 */
export async function read(live: Live, response: Response, begun: (id: string) => void): Promise<void> {
  if (response.body === null) throw new StreamCut();
  for await (const event of events(response.body)) {
    const known = live.reply.id;
    add(live.reply, event, (performance.now() - live.begun) / MILLISECONDS);
    live.state = "running";
    if (!known && live.reply.id) begun(live.reply.id);
    if (hasEnded(live.reply)) return;
  }
}

/** Read the rest of an answer, again and again until it has ended; return whether it has.
 *
 * Args:
 *   pause: Seconds before the first attempt.
 */
export async function follow(live: Live, signal: AbortSignal, pause: number): Promise<boolean> {
  for (let seconds = pause; !signal.aborted; seconds = Math.min(2 * seconds || 1, MAX_PAUSE_SECONDS)) {
    if (seconds > 0) live.state = "lost";
    await new Promise((done) => setTimeout(done, seconds * MILLISECONDS));
    try {
      await read(live, await followResponse(live.reply.id, live.reply.number, signal), () => {});
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      if (isLost(error) || (error instanceof ApiError && error.temporary)) continue;
      Object.assign(live, { state: "refused", error });
      return false;
    }
  }
  return false;
}
