/** The names of fields for people, and the way to their controls. */

import { tick } from "svelte";

import { preferences } from "#lib/preferences.svelte.ts";
import type { Assistant } from "./assistant.ts";
import type { Editor } from "./editor.svelte.ts";
import { bindingName, memberName } from "./members.ts";

const TOOL = /^tools\[(\d+)\]\.?(.*)$/;

/** Return the name of a field such as `tools[2].config.top_k`.
 *
 * Args:
 *   toolName: Returns the name of a tool by its position.
 */
export function fieldName(
  field: string,
  editor: Editor,
  toolName: (index: number) => string = (index) => editor.toolName(index),
): string {
  const [, index, member = ""] = TOOL.exec(field) ?? [];
  if (index === undefined) return memberName(field) ?? field;
  const tool = toolName(Number(index)) || field;
  if (!member) return tool;
  return `${tool}: ${bindingName(member) ?? editor.settingName(Number(index), member.replace(/^config\./, ""))}`;
}

/** Return the name of a difference between two assistants. */
export function pathName(path: readonly string[], editor: Editor, others: Assistant): string {
  const [member = "", id, ...rest] = path;
  if (member !== "tools" || id === undefined) return memberName(path.join(".")) ?? path.join(".");
  const index = editor.assistant.tools.findIndex((each) => String(each.id) === id);
  if (index >= 0) return fieldName([`tools[${index}]`, ...rest].join("."), editor);
  const type = others.tools.find((each) => String(each.id) === id)?.type ?? id;
  return [editor.titleOf(type), ...rest].join(": ");
}

const MAX_FRAMES = 60;
const CONTROLS = "input, select, textarea";
const controls = (): HTMLElement[] => [...document.querySelectorAll<HTMLElement>("[data-field]")];

/** Return the place of a field in the form; fields without a control are last. */
export function position(field: string): number {
  const places = controls();
  let best = -1;
  let length = -1;
  places.forEach(({ dataset }, index) => {
    const name = dataset["field"]!;
    const inside = field === name || field.startsWith(`${name}.`) || field.startsWith(`${name}[`);
    if (inside && name.length > length) [best, length] = [index, name.length];
  });
  return best < 0 ? places.length : best;
}

/** Open the parts of the form that an element is in. */
export function openAround(element: Element): void {
  for (let each = element.closest("details"); each; each = each.parentElement?.closest("details") ?? null)
    each.open = true;
}

/** Wait until the options of a tool, or the control of a field, are loaded and shown. */
async function shown(field: string): Promise<void> {
  const tool = TOOL.test(field) && field.slice(0, field.indexOf("]") + 1);
  for (let frame = 0; frame < MAX_FRAMES; frame += 1) {
    await tick();
    if (tool && controls().some(({ dataset }) => dataset["field"]?.startsWith(`${tool}.`))) return;
    if (!tool && controls()[position(field)]) return;
    await new Promise(requestAnimationFrame);
  }
}

/** Move the focus to the control of a field. */
export async function goTo(field: string, editor: Editor): Promise<void> {
  const [, index, member] = TOOL.exec(field) ?? [];
  if (index !== undefined) {
    editor.reveal(Number(index));
    if (!member) return;
    await shown(field);
  }
  if (!controls()[position(field)]) {
    preferences.setLevel("advanced"); // the simple level does not have it
    await shown(field);
  }
  const place = controls()[position(field)];
  if (place) openAround(place);
  place?.scrollIntoView({ block: "center" });
  const template = place?.querySelector("[data-template]")?.shadowRoot?.querySelector(".cm-content");
  const control = place?.matches(CONTROLS) ? place : (template ?? place?.querySelector(CONTROLS));
  if (control instanceof HTMLElement) control.focus();
}
