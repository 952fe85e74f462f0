/** The screens in the navigation. A screen is listed here once, with who may see it. */

import Bot from "@lucide/svelte/icons/bot";
import Building from "@lucide/svelte/icons/building-2";
import ChartColumn from "@lucide/svelte/icons/chart-column";
import ClipboardCheck from "@lucide/svelte/icons/clipboard-check";
import HeartPulse from "@lucide/svelte/icons/heart-pulse";
import House from "@lucide/svelte/icons/house";
import KeyRound from "@lucide/svelte/icons/key-round";
import Library from "@lucide/svelte/icons/library";
import MessagesSquare from "@lucide/svelte/icons/messages-square";
import Plug from "@lucide/svelte/icons/plug";
import ScrollText from "@lucide/svelte/icons/scroll-text";
import Truck from "@lucide/svelte/icons/truck";
import Users from "@lucide/svelte/icons/users";
import Wrench from "@lucide/svelte/icons/wrench";
import type { Path } from "$app/types";

import type { Key } from "./i18n/index.svelte.ts";
import { session } from "./session.svelte.ts";

interface Screen {
  path: Exclude<Path, `${string}/${string}`>;
  title: Key;
  icon: typeof House;
  /** Whether the user may see the screen; everybody if absent. */
  visible?: () => boolean;
}

const SCREENS: readonly Screen[] = [
  { path: "chat", title: "chat.title", icon: MessagesSquare },
  { path: "", title: "home.title", icon: House },
  { path: "assistants", title: "assistants.title", icon: Bot },
  {
    path: "groups",
    title: "groups.title",
    icon: Users,
    visible: () => session.may("manage_assistants"),
  },
  {
    path: "knowledge",
    title: "knowledge.title",
    icon: Library,
    visible: () => session.may("manage_collections"),
  },
  {
    path: "rubrics",
    title: "rubrics.title",
    icon: ClipboardCheck,
    visible: () => session.may("manage_rubrics"),
  },
  { path: "tools", title: "catalog.title", icon: Wrench, visible: () => session.may("run_tools") },
  {
    path: "models",
    title: "connect.title",
    icon: Plug,
    visible: () => session.may("manage_organization"),
  },
  {
    path: "usage",
    title: "usage.title",
    icon: ChartColumn,
    visible: () => session.may("manage_assistants"),
  },
  {
    path: "organizations",
    title: "organizations.title",
    icon: Building,
    visible: () => session.may("manage_organization"),
  },
  {
    path: "keys",
    title: "keys.title",
    icon: KeyRound,
    visible: () => session.may("manage_own_keys") || session.may("manage_keys"),
  },
  {
    path: "audit",
    title: "audit.title",
    icon: ScrollText,
    visible: () => session.may("read_audit"),
  },
  {
    path: "migration",
    title: "migration.title",
    icon: Truck,
    visible: () => session.may("manage_installation") && session.offers("lamb"),
  },
  {
    path: "health",
    title: "health.title",
    icon: HeartPulse,
    visible: () => session.may("manage_installation"),
  },
];

export const screens = (): Screen[] => SCREENS.filter((each) => each.visible?.() ?? true);
