/** The lines of progress that the server writes in English, in the language of the user. */

import { queries } from "#lib/api/queries.ts";
import { type Key, language, t } from "#lib/i18n/index.svelte.ts";
import { type Tool, TOOLS, toolTexts } from "#lib/tools.ts";

/** What the services write, and the text for it. The first that matches counts. */
const LINES: readonly (readonly [RegExp, Key])[] = [
  [/^running (?<tools>.+)$/, "trial.step.running"],
  [/^chose (?<tools>.+?): (?<reason>.+)$/, "trial.step.chose"],
  [/^merging tool outputs$/, "trial.merging"],
  [/^Embedding query\.\.\.$/, "trial.step.preparing"],
  [/^planning searches$/, "trial.step.preparing"],
  [/^searching the web$/, "trial.step.web"],
  [/^searching files$/, "trial.step.files"],
  [/^(querying knowledge base|Searching pages of|Searching) (?<where>.+?)(\.\.\.)?$/, "trial.step.searching"],
  [/^pass (?<number>\d+): (?<query>.+)$/, "trial.step.pass"],
  [/^looking for themes$/, "trial.step.themes"],
  [/^looking for what links (?<start>.+) and (?<end>.+)$/, "trial.step.links"],
  [/^(reading what is known about|asking) the documents$/, "trial.step.data"],
  [/^(writing a|correcting the) query$/, "trial.step.data"],
  [/^reading an uploaded file$/, "trial.step.upload"],
  [/^reading (file )?(?<what>.+)$/, "trial.step.reading"],
  [/^generating rubric /, "trial.step.rubric"],
  [/^Looking at page (?<page>\d+) of (?<title>.+?)\.\.\.$/, "trial.step.page"],
  [/^(asking Moodle for .+|looking you up in Moodle)$/, "trial.step.moodle"],
  [/^asking (?<server>.+?) for (?<what>.+)$/, "trial.step.asking"],
  [/^looking up the weather of (?<city>.+)$/, "trial.step.weather"],
  [/^counting words$/, "trial.step.words"],
  [/^listing files$/, "trial.step.listing"],
  [/^listing (?<what>.+)$/, "trial.step.listingOf"],
  [/^restoring files$/, "trial.step.restoring"],
  [/^restoring (?<what>.+)$/, "trial.step.restoringOf"],
  [/^checking changes of (?<what>.+)$/, "trial.step.checking"],
  [/^changing (?<what>.+)$/, "trial.step.changing"],
];
/** What a line names instead of collections that have no name for people. */
const UNNAMED = "documents";

/** Return a line of progress for people; one that a plugin writes is as the plugin writes it. */
export function progressText(line: string): string {
  for (const [pattern, key] of LINES) {
    const match = pattern.exec(line);
    if (!match) continue;
    const parameters = { ...match.groups };
    if (parameters["where"] === UNNAMED) return t("trial.step.documents");
    if (parameters["tools"]) parameters["tools"] = parameters["tools"].split(", ").map(titleOf).join(", ");
    return t(key, parameters);
  }
  return line;
}

/** Return the title of a tool, as far as the tools are loaded. */
function titleOf(name: string): string {
  const tool = queries.getQueryData<readonly Tool[]>([...TOOLS])?.find((each) => each.name === name);
  return tool ? toolTexts(tool, language()).title : name.replaceAll("_", " ");
}
