/** A conversation of the chat. The server makes and stores the answers: a lost connection, a reload or
 * another tab find them again.
 */

import { ApiError } from "#lib/api/errors.ts";
import { type Attachment, contentOf } from "#lib/answers/attachments.ts";
import { type Waiting } from "#lib/answers/answer.ts";
import {
  cancelResponse,
  deleteConversation,
  fetchConversation,
  fetchResponse,
  itemPages,
  MODEL_PREFIX,
  newConversation,
  rate,
  startResponse,
  type StoredConversation,
} from "./api.ts";
import { history } from "./history.svelte.ts";
import {
  attachmentsOf,
  type Feedback,
  isOpen,
  type Item,
  newestAfter,
  textOf,
  type Turn,
  turnsTo,
} from "./items.ts";
import { follow, isLost, type Live, read } from "./live.ts";
import { hasEnded, newReply, type Outcome, outcomeOf, type Reply } from "./reply.ts";

const MILLISECONDS = 1_000;
const TITLE_MILLISECONDS = 5_000;
const NOT_SET_UP = 501;

export class Chat {
  conversation: StoredConversation | null = $state.raw(null);
  items: readonly Item[] = $state.raw([]);
  /** The last item of the branch that is shown. */
  last = $state("");
  live: Live | null = $state(null);
  /** What responses say beside their items, as far as it was needed. */
  outcomes: Record<string, Outcome> = $state({});
  /** Whether conversations are stored here. */
  stored = $state(true);
  /** Whether older items are still to come. */
  loading = $state(false);
  error: unknown = $state.raw(null);
  stopping = $state(false);
  /** The identifier of the assistant that answers. */
  assistant = $state("");
  /** Whether the user is told that teachers can read questions. */
  informed = false;
  readonly turns: Turn[] = $derived(turnsTo(this.items, this.last));
  readonly running: boolean = $derived(this.live !== null && this.live.state !== "refused");
  #abort = new AbortController();
  #learning = new Map<string, Promise<void>>();

  /** Args:
   *   assistant: The identifier of the assistant that answers.
   *   created: Called when the conversation has got an identifier.
   */
  constructor(
    assistant = "",
    readonly created: (id: string) => void = () => {},
  ) {
    this.assistant = assistant;
  }

  /** Show a stored conversation, and go on with an answer that is being made. */
  async load(id: string): Promise<void> {
    this.error = null;
    this.loading = true;
    const { signal } = this.#abort;
    try {
      this.conversation = await fetchConversation(id, signal);
      this.assistant = this.conversation.assistant.replace(MODEL_PREFIX, "");
      for await (const page of itemPages(id, "desc", "", signal)) {
        const first = this.items.length === 0;
        this.items = [...page.reverse(), ...this.items];
        if (first) {
          this.last = newestAfter(this.items);
          void this.#resume();
        }
      }
    } catch (error) {
      if (!signal.aborted) this.error = error;
    } finally {
      this.loading = false;
    }
  }

  /** Leave the conversation. The server goes on. */
  leave(): void {
    this.#abort.abort();
  }

  /** Ask a question; without `after` at the end of what is shown. */
  async ask(text: string, attachments: readonly Attachment[] = [], after = this.last): Promise<void> {
    if (this.running) return;
    const content = contentOf(text, attachments);
    const question: Item = { id: "", type: "message", role: "user", content };
    await this.#run(question, [], [{ type: "message", role: "user", content }], after);
  }

  /** Ask a question in other words, or with the same again: a branch beside the turn. */
  async change(turn: Turn, text = textOf(turn.question)): Promise<void> {
    const parent = turn.question?.heddle?.parent ?? "";
    this.last = parent;
    await this.ask(text, attachmentsOf(turn.question), parent);
  }

  /** Try again what the server has not begun. */
  async again(): Promise<void> {
    const live = this.live;
    if (live?.state !== "refused") return;
    this.live = null;
    await this.ask(textOf(live.question), attachmentsOf(live.question));
  }

  /** Take back a question that the server refuses. */
  takeBack(): void {
    if (this.live?.state === "refused") this.live = null;
  }

  /** Confirm or decline the calls that wait in the last turn. */
  async decide(calls: readonly Waiting[], confirmed: boolean): Promise<void> {
    const turn = this.turns.at(-1);
    if (!turn?.question || this.running) return;
    const outputs = calls.map(({ id }) => ({
      type: "mcp_approval_response",
      approval_request_id: id,
      approve: confirmed,
    }));
    await this.#run(turn.question, turn.answer, outputs, this.last);
  }

  /** Show another version of a question. */
  show(version: string): void {
    this.last = newestAfter(this.items, version);
  }

  async stop(): Promise<void> {
    if (!this.live || this.stopping) return;
    this.stopping = true;
    const { id } = this.live.reply;
    if (!this.stored) return this.#abort.abort();
    // Without an identifier the answer is cancelled when it begins.
    if (id) await cancelResponse(id).catch(() => {});
  }

  /** Store what the user thinks of an answer. */
  async rate(item: Item, feedback: Feedback): Promise<void> {
    if (!this.conversation) return;
    await rate(this.conversation.id, item.id, feedback);
    const about = { created_at: 0, parent: null, response: null, ...item.heddle, feedback };
    this.items = this.items.map((each) => (each.id === item.id ? { ...each, heddle: about } : each));
  }

  /** Learn what the response of a turn says beside its items. */
  async learn(response: string): Promise<void> {
    if (!response || this.outcomes[response]) return;
    const known = this.#learning.get(response);
    if (known) return await known;
    const learning = fetchResponse(response).then((view) => void (this.outcomes[response] = outcomeOf(view)));
    this.#learning.set(response, learning);
    try {
      await learning;
    } finally {
      this.#learning.delete(response);
    }
  }

  async #run(question: Item, before: Item[], input: object[], after: string): Promise<void> {
    const live: Live = {
      question,
      before,
      reply: newReply(),
      begun: performance.now(),
      state: "running",
      error: null,
    };
    this.live = live;
    this.stopping = false;
    if (this.#abort.signal.aborted) this.#abort = new AbortController();
    const shown = this.live; // its members are state
    try {
      await this.#prepare();
      const id = this.conversation?.id;
      const model = `${MODEL_PREFIX}${this.assistant}`;
      const body = id
        ? { model, input, conversation: { id, after, informed: this.informed }, background: true }
        : { model, input: [...this.#path(), ...input], store: false };
      const response = await startResponse(body, this.#abort.signal);
      await read(shown, response, (started) => this.#begun(started));
      await this.#end(shown);
    } catch (error) {
      await this.#failed(shown, error, after);
    }
  }

  /** Make the conversation of the first question. */
  async #prepare(): Promise<void> {
    if (this.conversation || !this.stored) return;
    try {
      this.conversation = await newConversation();
    } catch (error) {
      if (!(error instanceof ApiError && error.status === NOT_SET_UP)) throw error;
      this.stored = false;
    }
  }

  /** Return what was said, for an organisation that stores nothing. */
  #path = (): object[] =>
    this.turns.flatMap(({ question, answer }) =>
      [...(question ? [question] : []), ...answer].map(({ heddle: _, ...item }) => item),
    );

  #begun(response: string): void {
    if (this.stopping) void cancelResponse(response).catch(() => {});
    if (this.conversation && this.items.length === 0) this.created(this.conversation.id);
  }

  /** The connection was lost, or the server refuses. */
  async #failed(live: Live, error: unknown, after: string): Promise<void> {
    if (this.#abort.signal.aborted) {
      if (!this.stored && this.stopping) this.#keep(live);
      return;
    }
    const lost = isLost(error);
    if (lost && live.reply.id && this.stored) return await this.#follow(live);
    if (lost && this.stored && (await this.#arrived(live, after))) return;
    Object.assign(live, { state: "refused", error });
    if (this.conversation && this.items.length === 0 && !lost) {
      // Nothing was said in it.
      void deleteConversation(this.conversation.id).catch(() => {});
      this.conversation = null;
    }
  }

  /** Return whether the server began an answer although nothing of it came. */
  async #arrived(live: Live, after: string): Promise<boolean> {
    if (!this.conversation) return false;
    const known = new Set(this.items.map(({ id }) => id));
    try {
      await this.#sync();
    } catch {
      return false;
    }
    const begun = this.items.findLast(({ id, heddle }) => !known.has(id) && (heddle?.parent ?? "") === after);
    if (!begun?.heddle?.response || (live.before.length > 0 && begun.role)) return false;
    this.live = null;
    this.last = newestAfter(this.items, begun.id);
    await this.#resume();
    return true;
  }

  /** Go on with the answer of the last turn if it is being made. */
  async #resume(): Promise<void> {
    const turn = this.turns.at(-1);
    if (!turn?.question || !turn.response || !isOpen(turn)) return;
    try {
      await this.learn(turn.response);
    } catch {
      return; // the turn shows that its answer is missing
    }
    if (hasEnded(this.outcomes[turn.response]!)) return;
    delete this.outcomes[turn.response];
    const reply = { ...newReply(), id: turn.response };
    const { question, answer: before } = turn;
    this.live = { question, before, reply, begun: performance.now(), state: "running", error: null };
    await this.#follow(this.live, 0);
  }

  async #follow(live: Live, pause = 1): Promise<void> {
    if (await follow(live, this.#abort.signal, pause)) await this.#end(live);
  }

  /** Replace what was read by what is stored. */
  async #end(live: Live): Promise<void> {
    const { id } = live.reply;
    const outcome: Outcome = $state.snapshot(live.reply) as Outcome;
    this.outcomes[id] = this.stopping ? { ...outcome, status: "cancelled", error: null } : outcome;
    this.stopping = false;
    if (!this.stored) return this.#keep(live);
    try {
      await this.#sync();
      this.live = null;
      const mine = this.items.findLast(({ heddle }) => heddle?.response === id);
      if (mine) this.last = mine.id;
      this.conversation = await fetchConversation(this.conversation!.id, this.#abort.signal);
      history.refresh();
      // The server writes a title after the first answer.
      if (this.turns.length === 1) setTimeout(() => void this.#retitle(), TITLE_MILLISECONDS);
    } catch {
      // What was read stays on the screen; the next question reads what is stored.
      if (this.live) this.#keep(live);
    }
  }

  async #retitle(): Promise<void> {
    if (this.#abort.signal.aborted || !this.conversation) return;
    try {
      this.conversation = await fetchConversation(this.conversation.id, this.#abort.signal);
      history.refresh();
    } catch {
      // The title stays what it is until the list is read again.
    }
  }

  /** Take what was read as items of this tab. */
  #keep(live: Live): void {
    const reply = $state.snapshot(live.reply) as Reply;
    const response = reply.id || crypto.randomUUID();
    if (!this.outcomes[response]) this.outcomes[response] = { ...reply, status: "cancelled" };
    let parent = this.last;
    const question = { ...$state.snapshot(live.question), id: `local-${response}` } as Item;
    for (const item of [...(live.before.length > 0 ? [] : [question]), ...reply.items]) {
      const heddle = { created_at: Date.now() / MILLISECONDS, parent, response };
      this.items = [...this.items, { ...item, heddle }];
      parent = item.id;
    }
    this.last = parent;
    this.live = null;
  }

  /** Read the items that were stored since. */
  async #sync(): Promise<void> {
    const known = this.items.findLast(({ id }) => !id.startsWith("local-"))?.id ?? "";
    const added: Item[] = [];
    for await (const page of itemPages(this.conversation!.id, "asc", known, this.#abort.signal))
      added.push(...page);
    const ids = new Set(this.items.map(({ id }) => id));
    this.items = [...this.items, ...added.filter(({ id }) => !ids.has(id))];
  }
}
