/** The texts of the studio in the user's language.
 *
 * A language is a file in each folder: `shell` has what the first screen and the frame of all screens
 * say, the others are loaded with the screens that need them (`parts.ts`). `languages` has the way to them.
 */

import type { Part, TextKey } from "./parts.ts";

export type Key = TextKey | PluralKey<TextKey>;
type PluralKey<K extends string> = K extends `${infer Base}.other` ? Base : never;
type Messages = Record<string, string>;

/** Those of a language: what is there from the start, and how the other parts are loaded. */
interface Texts {
  shell: Messages;
  others: Record<string, () => Promise<Messages>>;
}

/** Each language in its own words. */
export const LANGUAGES = { en: "English", es: "Español", ca: "Català", eu: "Euskara" } as const;
export type Language = keyof typeof LANGUAGES;

const MILLISECONDS = 1_000;
// A file for each language, so that the first screen does not name the files of all.
const files = import.meta.glob<Texts>("./languages/*.ts", { import: "default" });
const parts = new Set<Part>();
let current = $state.raw<{ language: Language; messages: Messages }>({ language: "en", messages: {} });

export const isLanguage = (text: string): text is Language => Object.hasOwn(LANGUAGES, text);

/** Return the first language of a list that the studio has, as browsers name them: `eu-ES`. */
export function preferred(names: readonly string[]): Language {
  const known = names.map((name) => name.split("-")[0] ?? "").find(isLanguage);
  return known ?? "en";
}

/** Show the studio in a language from now on. */
export async function speak(language: Language): Promise<void> {
  const { shell, others } = await files[`./languages/${language}.ts`]!();
  const loaded = await Promise.all([...parts].map((part) => others[`../${part}/${language}.json`]!()));
  current = { language, messages: Object.assign({}, shell, ...loaded) as Messages };
  document.documentElement.lang = language;
}

/** Load the texts of a screen, once. */
export async function speakOf(screen: readonly Part[]): Promise<void> {
  if (screen.every((part) => parts.has(part))) return;
  for (const part of screen) parts.add(part);
  await speak(current.language);
}

/** Return the language in use. */
export const language = (): Language => current.language;

/** Return a text, its placeholders `{name}` filled in.
 *
 * A text with the forms `KEY.one` and `KEY.other` has the form of the parameter `count`.
 */
export function t(key: Key, parameters: Record<string, string | number> = {}): string {
  const { messages } = current;
  const count = parameters["count"];
  const form =
    typeof count === "number" ? `${key}.${new Intl.PluralRules(current.language).select(count)}` : key;
  const text = messages[form] ?? messages[`${key}.other`] ?? messages[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = parameters[name];
    return value === undefined ? whole : typeof value === "number" ? number(value) : value;
  });
}

/** Return whether the browser knows how the language writes numbers and dates. Chromium does not know
 * Basque.
 */
const isKnown = (): boolean => Intl.DateTimeFormat.supportedLocalesOf(current.language).length > 0;

/** Return a number in the language's form; Basque has the separators of Spanish. */
export const number = (value: number, options?: Intl.NumberFormatOptions): string =>
  new Intl.NumberFormat(isKnown() ? current.language : "es", options).format(value);

/** Return an amount of money. */
export const money = (value: number, currency = "USD"): string =>
  number(value, { style: "currency", currency, maximumSignificantDigits: 3 });

type DateForm = "day" | "moment" | "dayOfYear";
const TWO_DIGITS = { month: "2-digit", day: "2-digit" } as const;
const WITH_WORDS: Record<DateForm, Intl.DateTimeFormatOptions> = {
  day: { dateStyle: "medium" },
  moment: { dateStyle: "medium", timeStyle: "short" },
  dayOfYear: { day: "numeric", month: "short", timeZone: "UTC" },
};
const DIGITS: Record<DateForm, Intl.DateTimeFormatOptions> = {
  day: { year: "numeric", ...TWO_DIGITS },
  moment: { year: "numeric", ...TWO_DIGITS, hour: "2-digit", minute: "2-digit" },
  dayOfYear: { ...TWO_DIGITS, timeZone: "UTC" },
};

/** Return how long something took, in milliseconds below a second: nothing that happened took `0 s`. */
export const duration = (seconds: number): string =>
  seconds < 1
    ? `${number(Math.round(seconds * MILLISECONDS) || Math.ceil(seconds))} ms`
    : `${number(seconds, { maximumFractionDigits: 1 })} s`;

/** Return a time in the language's form, a dash for 0, which is unknown. Where the browser lacks the names of months it has digits
 * only, such as 2026/11/26, which is how Japanese and Basque write dates.
 */
function written(form: DateForm, seconds: number): string {
  if (seconds === 0) return "–";
  const language = current.language === "en" ? "en-GB" : current.language; // as the texts are written
  const [locale, options] = isKnown() ? [language, WITH_WORDS] : ["ja", DIGITS];
  return new Intl.DateTimeFormat(locale, options[form]).format(seconds * MILLISECONDS);
}

/** Return a day, a day and a time, or a day without its year, of seconds since 1970. */
export const day = (seconds: number): string => written("day", seconds);
export const moment = (seconds: number): string => written("moment", seconds);
export const dayOfYear = (seconds: number): string => written("dayOfYear", seconds);

/** Who the operator is for the services: nobody, an API key, or everybody in development mode. */
const OPERATORS: readonly string[] = ["", "operator", "developer"];

/** Return whom an identifier of the services names: an address, or the operator. */
export const personName = (subject: string): string =>
  OPERATORS.includes(subject) ? t("person.operator") : subject;

/** Return the name of a language; its own one where the browser has no translation. */
export function languageName(tag: string): string {
  const names = new Intl.DisplayNames(isKnown() ? current.language : tag, { type: "language" });
  return names.of(tag) ?? tag;
}
