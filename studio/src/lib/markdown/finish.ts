/** What the sanitised HTML of a block gets beside it: formulas, colours, buttons to copy, marks of sources. */

import { t } from "#lib/i18n/index.svelte.ts";
import type { Block } from "./blocks.ts";

const MARK = /\[(\d{1,3})\]/g;
const COPIED_MILLISECONDS = 2_000;
/** The libraries, which are loaded when they are needed first and used at once from then on. */
const loaded: {
  formulas?: typeof import("./formulas.ts");
  colours?: typeof import("./colours.ts");
} = {};

/** Complete an element that shows a block.
 *
 * Args:
 *   sources: The number of sources that `[1]` and so on can refer to.
 *   open: Opens one of them.
 */
export function finish(
  element: HTMLElement,
  { settled }: Block,
  sources: number,
  open: (source: number) => void,
): void {
  const formulas = [...element.querySelectorAll<HTMLElement>("[data-math]")];
  if (formulas.length > 0) void typeset(formulas);
  if (sources > 0) addMarks(element, sources, open);
  if (settled) for (const code of element.querySelectorAll<HTMLElement>("pre > code")) finishCode(code);
}

function typeset(formulas: readonly HTMLElement[]): void | Promise<void> {
  if (loaded.formulas) return formulas.forEach(loaded.formulas.typeset);
  return import("./formulas.ts").then((module) => {
    loaded.formulas = module;
    formulas.forEach(module.typeset);
  });
}

function finishCode(code: HTMLElement): void {
  const language = code.dataset["language"] ?? "";
  const block = code.parentElement!;
  if (block.previousElementSibling?.hasAttribute("data-code")) return; // it is complete already
  block.before(header(code, language));
  if (!language) return;
  if (loaded.colours) loaded.colours.colour(code, language);
  else
    void import("./colours.ts").then((module) => {
      loaded.colours = module;
      module.colour(code, language);
    });
}

/** Return the line above code: its language, and a button that copies it. */
function header(code: HTMLElement, language: string): HTMLElement {
  const line = document.createElement("div");
  const name = document.createElement("span");
  const button = document.createElement("button");
  name.textContent = language;
  button.type = "button";
  button.textContent = t("keys.copy");
  button.onclick = async () => {
    try {
      await navigator.clipboard.writeText(code.textContent.replace(/\n$/, ""));
      button.textContent = t("keys.copied");
      setTimeout(() => (button.textContent = t("keys.copy")), COPIED_MILLISECONDS);
    } catch {
      // Without HTTPS browsers offer no clipboard: the user copies the selection.
      getSelection()?.selectAllChildren(code);
    }
  };
  line.dataset["code"] = "";
  line.append(name, button);
  return line;
}

/** Replace `[1]` by a button that opens the source of this number. */
function addMarks(element: HTMLElement, sources: number, open: (source: number) => void): void {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const texts: Text[] = [];
  while (walker.nextNode())
    if (!walker.currentNode.parentElement?.closest("a, code, pre, button"))
      texts.push(walker.currentNode as Text);
  for (const text of texts) {
    const marks = [...text.data.matchAll(MARK)].filter(
      ([, number]) => Number(number) >= 1 && Number(number) <= sources,
    );
    for (const {
      0: { length },
      1: digits,
      index,
    } of marks.reverse()) {
      const number = Number(digits);
      const button = document.createElement("button");
      button.type = "button";
      button.dataset["mark"] = "";
      button.textContent = String(number);
      button.ariaLabel = t("answer.source", { number });
      button.onclick = () => open(number);
      text.splitText(index + length);
      text.splitText(index).replaceWith(button);
    }
  }
}
