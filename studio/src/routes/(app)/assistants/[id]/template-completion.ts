/** The completion of slots in the text editor of a template. */

import { autocompletion, type Completion } from "@codemirror/autocomplete";
import type { Extension } from "@codemirror/state";

import type { Slot } from "./template.ts";

/** Complete a slot after its opening brace. */
export function completion(slots: readonly Slot[]): Extension {
  const options: Completion[] = slots.map(({ name, title }) => ({
    label: `{${name}}`,
    detail: title,
    apply: (view, _, from, to) => {
      const closed = view.state.sliceDoc(to, to + 1) === "}"; // of a slot that is being corrected
      const insert = `{${name}}`;
      view.dispatch({
        changes: { from, to: closed ? to + 1 : to, insert },
        selection: { anchor: from + insert.length },
        userEvent: "input.complete",
      });
    },
  }));
  return autocompletion({
    icons: false,
    override: [
      (context) => {
        const typed = context.matchBefore(/\{\w*/);
        if (!typed && !context.explicit) return null;
        return { from: typed?.from ?? context.pos, options, validFor: /^\{\w*$/ };
      },
    ],
  });
}
