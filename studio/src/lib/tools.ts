/** The tools of the server, and what people read about them. */

import { api, data } from "./api/client.ts";
import type { components } from "./api/schema.d.ts";

export type Tool = components["schemas"]["ToolDefinition"];

/** The key of the query of `fetchTools`. */
export const TOOLS = ["tools"] as const;

export async function fetchTools(signal: AbortSignal): Promise<readonly Tool[]> {
  return (await data(api.GET("/tools", { signal }))).tools;
}

/** The texts of a tool in a language; the root of its schema has the translations. */
export function toolTexts(tool: Tool, language: string): { title: string; description: string } {
  const translations = tool.config_schema["x-heddle-i18n"] as
    Record<string, { title?: string; description?: string }> | undefined;
  const translated = translations?.[language];
  return {
    title: translated?.title ?? tool.title,
    description: translated?.description ?? tool.description,
  };
}
