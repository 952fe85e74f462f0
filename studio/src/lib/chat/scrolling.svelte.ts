/** Keeps the end of a conversation in view, unless the user reads above. */

const NEAR_PIXELS = 80;

export class Scrolling {
  /** Whether the end is in view. */
  atEnd = $state(true);
  #box: HTMLElement | null = null;

  /** Follow the content of a box that scrolls. */
  readonly follow = (box: HTMLElement): (() => void) => {
    this.#box = box;
    let [top, height] = [box.scrollTop, box.scrollHeight];
    const observer = new ResizeObserver(() => {
      if (this.atEnd) this.toEnd();
    });
    const onscroll = (): void => {
      // Only a move of the user leaves the end, not what grows or shrinks.
      const moved = box.scrollTop < top && box.scrollHeight === height;
      const near = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_PIXELS;
      if (near || moved) this.atEnd = near;
      [top, height] = [box.scrollTop, box.scrollHeight];
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
