/** The screens in the navigation. A screen is listed here once, with who may see it. */

import Bot from "@lucide/svelte/icons/bot";
import HeartPulse from "@lucide/svelte/icons/heart-pulse";
import House from "@lucide/svelte/icons/house";
import type { Path } from "$app/types";

import type { Key } from "./i18n/index.svelte.ts";
import { session } from "./session.svelte.ts";

interface Screen {
  path: Path;
  title: Key;
  icon: typeof House;
  /** Whether the user may see the screen; everybody if absent. */
  visible?: () => boolean;
}

const SCREENS: readonly Screen[] = [
  { path: "", title: "home.title", icon: House },
  { path: "assistants", title: "assistants.title", icon: Bot },
  {
    path: "health",
    title: "health.title",
    icon: HeartPulse,
    visible: () => session.may("manage_installation"),
  },
];

export const screens = (): Screen[] => SCREENS.filter((each) => each.visible?.() ?? true);
