/** What it takes to show Markdown, in one file. */

export { Blocks } from "./blocks.ts";
export { finish } from "./finish.ts";
export { htmlOf } from "./html.ts";
import "./markdown.css";
