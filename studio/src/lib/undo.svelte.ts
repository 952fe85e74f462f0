/** Taking back what the user did, for some seconds after it and on every screen. */

export const UNDO_SECONDS = 10;
const TICK_MILLISECONDS = 250;
/** The least time that is left after the user looked at an offer. */
const LEAST_SECONDS = 3;

interface Action {
  /** What the user did. */
  message: string;
  /** What is said after it was taken back. */
  done: string;
  run: () => Promise<unknown>;
}

/** One thing that the user can take back. */
export class Offer {
  state = $state<"offered" | "running" | "done" | "failed">("offered");
  error: unknown = $state.raw(null);
  secondsLeft = $state(UNDO_SECONDS);

  constructor(
    readonly id: number,
    readonly action: Action,
  ) {}

  get message(): string {
    return this.state === "done" ? this.action.done : this.action.message;
  }

  async run(): Promise<void> {
    if (this.state === "running") return;
    this.state = "running";
    try {
      await this.action.run();
      this.state = "done";
      this.secondsLeft = UNDO_SECONDS;
    } catch (error) {
      this.state = "failed";
      this.error = error;
    }
  }
}

class Undo {
  /** The newest first. */
  offers: Offer[] = $state.raw([]);
  #paused = false;
  #count = 0;
  #timer: ReturnType<typeof setInterval> | undefined;

  offer(action: Action): void {
    this.offers = [new Offer(++this.#count, action), ...this.offers];
    this.#timer ??= setInterval(() => this.#tick(), TICK_MILLISECONDS);
  }

  dismiss(offer: Offer): void {
    this.#keep((each) => each !== offer);
  }

  /** Forget all offers: the next user must not take back what this one did. */
  clear(): void {
    this.#keep(() => false);
  }

  /** Stop the time while the user is at the offers. */
  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    for (const each of this.offers) each.secondsLeft = Math.max(each.secondsLeft, LEAST_SECONDS);
  }

  #tick(): void {
    if (this.#paused) return;
    // A failure stays until the user has seen it.
    const running = this.offers.filter((each) => each.state === "offered" || each.state === "done");
    for (const each of running) each.secondsLeft -= TICK_MILLISECONDS / 1000;
    if (running.some((each) => each.secondsLeft <= 0))
      this.#keep((each) => each.secondsLeft > 0 || !running.includes(each));
  }

  #keep(kept: (offer: Offer) => boolean): void {
    this.offers = this.offers.filter(kept);
    if (this.offers.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#paused = false;
  }
}

export const undo = new Undo();
