/** The lines of progress that the server writes in English, in the language of the user. */

import { type Key, t } from "#lib/i18n/index.svelte.ts";

/** What the services write, and the text for it. The first that matches counts. */
const LINES: readonly (readonly [RegExp, Key])[] = [
  [/^running (?<tools>.+)$/, "answer.step.running"],
  [/^chose (?<tools>.+?): (?<reason>.+)$/, "answer.step.chose"],
  [/^merging tool outputs$/, "answer.merging"],
  [/^Embedding query\.\.\.$/, "answer.step.preparing"],
  [/^planning searches$/, "answer.step.preparing"],
  [/^searching the web$/, "answer.step.web"],
  [/^searching files$/, "answer.step.files"],
  [
    /^(querying knowledge base|Searching pages of|Searching) (?<where>.+?)(\.\.\.)?$/,
    "answer.step.searching",
  ],
  [/^pass (?<number>\d+): (?<query>.+)$/, "answer.step.pass"],
  [/^looking for themes$/, "answer.step.themes"],
  [/^looking for what links (?<start>.+) and (?<end>.+)$/, "answer.step.links"],
  [/^(reading what is known about|asking) the documents$/, "answer.step.data"],
  [/^(writing a|correcting the) query$/, "answer.step.data"],
  [/^reading an uploaded file$/, "answer.step.upload"],
  [/^reading (file )?(?<what>.+)$/, "answer.step.reading"],
  [/^generating rubric /, "answer.step.rubric"],
  [/^Looking at page (?<page>\d+) of (?<title>.+?)\.\.\.$/, "answer.step.page"],
  [/^(asking Moodle for .+|looking you up in Moodle)$/, "answer.step.moodle"],
  [/^asking (?<server>.+?) for (?<what>.+)$/, "answer.step.asking"],
  [/^looking up the weather of (?<city>.+)$/, "answer.step.weather"],
  [/^counting words$/, "answer.step.words"],
  [/^listing files$/, "answer.step.listing"],
  [/^listing (?<what>.+)$/, "answer.step.listingOf"],
  [/^restoring files$/, "answer.step.restoring"],
  [/^restoring (?<what>.+)$/, "answer.step.restoringOf"],
  [/^checking changes of (?<what>.+)$/, "answer.step.checking"],
  [/^changing (?<what>.+)$/, "answer.step.changing"],
];
/** What a line names instead of collections that have no name for people. */
const UNNAMED = "documents";

/** Return a line of progress for people; one that a plugin writes is as the plugin writes it.
 *
 * `titleOf` returns the title of a tool by its name.
 */
export function progressText(line: string, titleOf: (name: string) => string = spoken): string {
  for (const [pattern, key] of LINES) {
    const match = pattern.exec(line);
    if (!match) continue;
    const parameters = { ...match.groups };
    if (parameters["where"] === UNNAMED) return t("answer.step.documents");
    if (parameters["tools"])
      parameters["tools"] = parameters["tools"]
        .split(", ")
        .map((name) => titleOf(name))
        .join(", ");
    return t(key, parameters);
  }
  return line;
}

const spoken = (name: string): string => name.replaceAll("_", " ");
