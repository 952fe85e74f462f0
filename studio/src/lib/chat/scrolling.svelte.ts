/** Keeps the end of a conversation in view, unless the user reads above. */

const NEAR_PIXELS = 80;

export class Scrolling {
  /** Whether the end is in view. */
  atEnd = $state(true);
  #box: HTMLElement | null = null;

  /** Follow the content of a box that scrolls. */
  readonly follow = (box: HTMLElement): (() => void) => {
    this.#box = box;
    const observer = new ResizeObserver(() => {
      if (this.atEnd) this.toEnd();
    });
    const onscroll = (): void => {
      this.atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_PIXELS;
    };
    for (const child of [box, ...box.children]) observer.observe(child);
    box.addEventListener("scroll", onscroll, { passive: true });
    return () => {
      observer.disconnect();
      box.removeEventListener("scroll", onscroll);
    };
  };

  toEnd(): void {
    this.atEnd = true;
    this.#box?.scrollTo({ top: this.#box.scrollHeight });
  }
}
