/** Colours code. The parts of a language become elements, never HTML. */

import type { ElementContent } from "hast";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import haskell from "highlight.js/lib/languages/haskell";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import kotlin from "highlight.js/lib/languages/kotlin";
import latex from "highlight.js/lib/languages/latex";
import matlab from "highlight.js/lib/languages/matlab";
import php from "highlight.js/lib/languages/php";
import prolog from "highlight.js/lib/languages/prolog";
import python from "highlight.js/lib/languages/python";
import r from "highlight.js/lib/languages/r";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { createLowlight } from "lowlight";
import "./colours.css";

/** Longer code stays in one colour: it would stop the page. */
const MAX_CHARACTERS = 20_000;
const lowlight = createLowlight({
  ...{ bash, c, cpp, csharp, css, diff, go, haskell, java, javascript, json, kotlin, latex, matlab },
  ...{ php, prolog, python, r, rust, sql, typescript, xml, yaml },
});

/** Colour the text of an element in a language, if it is known. */
export function colour(code: HTMLElement, language: string): void {
  const name = language.toLowerCase();
  const text = code.textContent;
  if (!lowlight.registered(name) || text.length > MAX_CHARACTERS) return;
  code.replaceChildren(...lowlight.highlight(name, text).children.map(node));
}

function node(part: ElementContent | { type: string }): Node {
  if (part.type === "text") return document.createTextNode((part as { value: string }).value);
  const element = document.createElement("span");
  const { properties = {}, children = [] } = part as Extract<ElementContent, { type: "element" }>;
  element.className = [properties["className"]].flat().join(" ");
  element.append(...children.map(node));
  return element;
}
