/** How the user wants to see the studio. Stored in the browser. */

import { isLanguage, type Language, preferred, speak } from "./i18n/index.svelte.ts";

export const THEMES = ["system", "light", "dark"] as const;
export const DENSITIES = ["spacious", "compact"] as const;
export const LEVELS = ["simple", "advanced"] as const;
export type Theme = (typeof THEMES)[number];
export type Level = (typeof LEVELS)[number];
export type Density = (typeof DENSITIES)[number];

const PREFIX = "heddle.";

function stored<T extends string>(name: string, values: readonly T[], otherwise: T): T {
  const value = read(name) as T;
  return values.includes(value) ? value : otherwise;
}

function read(name: string): string {
  try {
    return localStorage.getItem(PREFIX + name) ?? "";
  } catch {
    return ""; // the browser forbids storage
  }
}

function write(name: string, value: string): void {
  try {
    localStorage.setItem(PREFIX + name, value);
  } catch {
    // The choice holds until the page is closed.
  }
}

class Preferences {
  theme = $state<Theme>(stored("theme", THEMES, "system"));
  /** How much the editor of assistants shows. */
  level = $state<Level>(stored("level", LEVELS, "simple"));
  density = $state<Density>(stored("density", DENSITIES, "spacious"));

  /** Apply what is stored, before the first screen. */
  async start(): Promise<void> {
    this.setTheme(this.theme);
    this.setDensity(this.density);
    const language = read("language");
    await speak(isLanguage(language) ? language : preferred(navigator.languages));
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    write("theme", theme);
    const root = document.documentElement;
    if (theme === "system") delete root.dataset["theme"];
    else root.dataset["theme"] = theme;
  }

  setDensity(density: Density): void {
    this.density = density;
    write("density", density);
    document.documentElement.dataset["density"] = density;
  }

  setLevel(level: Level): void {
    this.level = level;
    write("level", level);
  }

  async setLanguage(language: Language): Promise<void> {
    write("language", language);
    await speak(language);
  }
}

export const preferences = new Preferences();
