/** Markdown of models and tools as HTML that the page may show. */

import createDOMPurify, { type Config } from "dompurify";
import { type Block, marked } from "./blocks.ts";

const purifier = createDOMPurify(window);
/** Pictures that are part of the text. */
const INLINE_IMAGE = /^data:image\/(png|jpeg|gif|webp);/i;
const LINKS = new Set(["http:", "https:", "mailto:"]);
const CONFIG: Config & { RETURN_TRUSTED_TYPE: true } = {
  USE_PROFILES: { html: true },
  // Text needs no controls, and nothing that names or styles parts of the page.
  FORBID_TAGS: [
    "style",
    "form",
    "input",
    "button",
    "textarea",
    "select",
    "option",
    "dialog",
    "video",
    "audio",
  ],
  FORBID_ATTR: ["style", "class", "id", "name", "srcset", "background", "tabindex", "popover", "autofocus"],
  ALLOW_DATA_ATTR: false,
  // Of formulas, code and task lists; they have words as values.
  ADD_ATTR: ["data-math", "data-language", "data-task"],
  ALLOW_ARIA_ATTR: false,
  ALLOWED_URI_REGEXP: /^(?:(?:https?|mailto|blob|data):|[^a-z]|[a-z+.-]+(?:[^a-z+.\-:]|$))/i,
  RETURN_TRUSTED_TYPE: true,
};

/** Whether a picture comes from this host. The browser resolves the address: it reads `/\\host` as `//host`. */
function isOwn(address: string): boolean {
  if (INLINE_IMAGE.test(address)) return true;
  const url = URL.parse(address, location.href);
  return url?.origin === location.origin;
}

purifier.addHook("afterSanitizeAttributes", (node) => {
  if (node instanceof HTMLAnchorElement || node instanceof HTMLAreaElement) {
    if (!LINKS.has(node.protocol)) node.removeAttribute("href");
    node.target = "_blank";
    node.rel = "noopener noreferrer nofollow";
  }
  if (node instanceof HTMLImageElement && !node.hasAttribute("alt")) node.alt = "";
  if (node instanceof HTMLImageElement && !isOwn(node.getAttribute("src") ?? "")) {
    // A picture of another host would tell it who reads this. The address stays readable.
    node.replaceWith(`${node.alt} ${node.getAttribute("src") ?? ""}`.trim());
  }
});

/** Return a block of Markdown as trusted HTML. Scripts, styles, controls and foreign pictures are left out. */
export const htmlOf = ({ tokens }: Block) => purifier.sanitize(marked.parser(tokens), CONFIG);
