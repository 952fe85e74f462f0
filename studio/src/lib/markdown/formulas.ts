/** Sets formulas with KaTeX. Its commands that load, link or style anything are off. */

import katex from "katex";
import "katex/dist/katex.min.css";

const OPTIONS = { throwOnError: true, trust: false, strict: "ignore", maxExpand: 200, maxSize: 20 } as const;

/** Replace TeX by its formula. TeX that is not valid stays as it is. */
export function typeset(code: HTMLElement): void {
  const tex = code.textContent;
  const formula = document.createElement("span");
  try {
    // Nodes, not HTML: the policy of the page forbids attributes of style.
    katex.render(tex, formula, { ...OPTIONS, displayMode: code.dataset["math"] === "display" });
  } catch {
    delete code.dataset["math"];
    return;
  }
  code.replaceWith(formula);
}
