import type { components } from "#lib/api/schema.d.ts";
import { isObject, type Json, merged, textAt } from "../settings.ts";

export type Tool = components["schemas"]["InspectedTool"];

/** An MCP server in the settings of an organisation. */
export interface Server {
  name: string;
  url: string;
  hasToken: boolean;
  pins: Record<string, string>;
}

const PIN = /^sha256:[0-9a-f]{64}$/;

/** Return the servers in settings, ordered by name. What people wrote wrong by hand is left out. */
export const serversOf = (settings: Json): Server[] =>
  Object.entries(merged(settings, "mcp_servers"))
    .flatMap(([name, server]) => (isObject(server) && textAt(server, "url") ? [serverOf(name, server)] : []))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));

function serverOf(name: string, server: Json): Server {
  const pins = isObject(server["pins"]) ? Object.entries(server["pins"]) : [];
  return {
    name,
    url: textAt(server, "url"),
    hasToken: Boolean(server["token"] ?? server["api_key"]),
    pins: Object.fromEntries(
      pins.filter((pin): pin is [string, string] => typeof pin[1] === "string" && PIN.test(pin[1])),
    ),
  };
}

/** The states of tools in the order in which an administrator looks at them. */
export const STATES = ["changed", "new", "missing", "unchanged"] as const;

/** Whether the next step is to withdraw a pin, not to store one. */
export const isPinned = (tool: Tool): boolean =>
  tool.state === "unchanged" || tool.state === "missing" || (tool.state === "changed" && !tool.pin);
