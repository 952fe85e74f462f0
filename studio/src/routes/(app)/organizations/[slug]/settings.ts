/** The settings of an organisation: a JSON object in LAMB's form, whose members are in one of two
 * places, and have several names. A form changes each where it is. */

export type Json = Record<string, unknown>;

/** What the server sends instead of a secret, and what keeps the stored one. */
export const MASK = "********";
const SETUPS = "setups";
const DEFAULT = "default";
/** The members with fields of their own. The others are edited as JSON. */
export const FIELDS = [
  "providers",
  "knowledge_base",
  "kb_server",
  "moodle",
  "mcp_servers",
  "search_servers",
  "global_default_model",
  "small_fast_model",
  "output_hosts",
  "on_change",
  "prices",
  "retention",
  "chat",
] as const;

export const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const inner = (settings: Json): Json => {
  const setups = settings[SETUPS];
  const setup = isObject(setups) ? setups[DEFAULT] : undefined;
  return isObject(setup) ? setup : {};
};

/** Return the object that has a member: the settings, or LAMB's default setup in them. */
export const placeOf = (settings: Json, member: string): Json =>
  member in settings || !(member in inner(settings)) ? settings : inner(settings);

/** Return a member that is an object, and make it one that `settings` contains if it is missing. */
export function objectAt(settings: Json, member: string): Json {
  const place = placeOf(settings, member);
  if (!isObject(place[member])) place[member] = {};
  return place[member] as Json;
}

/** Return the members of an object in both places. */
export const merged = (settings: Json, member: string): Json =>
  Object.assign({}, ...[inner(settings)[member], settings[member]].filter(isObject)) as Json;

export const textAt = (object: Json, member: string): string => {
  const value = object[member];
  return typeof value === "string" ? value : "";
};

/** Return a number as text that is edited. */
export const numberText = (object: Json, member: string): string => {
  const value = object[member];
  return typeof value === "number" ? String(value) : textAt(object, member);
};

/** Store an edited number. The server refuses a text that is none, with what it must be. */
export function setNumber(object: Json, member: string, text: string): void {
  const digits = text.trim();
  if (digits) object[member] = /^\d{1,9}$/.test(digits) ? Number(digits) : digits;
  else delete object[member];
}

/** Return which of several names a member has; the first if it is missing. */
export const nameOf = (object: Json, ...names: [string, ...string[]]): string =>
  names.find((name) => object[name] !== undefined && object[name] !== "") ?? names[0];

/** Return a model as `connector/model`, of an object or of a text. */
export function modelText(value: unknown): string {
  if (typeof value === "string") return value;
  if (!isObject(value)) return "";
  const parts = [textAt(value, "provider"), textAt(value, "model")].filter(Boolean);
  return parts.join("/");
}

/** Return what LAMB stores for `connector/model`; null if there is none. */
export function modelValue(text: string): Json | null {
  const [provider = "", ...rest] = text.trim().split("/");
  return provider ? { provider, model: rest.join("/") } : null;
}

/** Return settings in which the organisation has accepted a form of a tool of an MCP server, or, if
 * `pin` is empty, none. Return null if the server is not at `url` any more. */
export function withPin(
  settings: Json,
  server: { name: string; url: string },
  tool: string,
  pin: string,
): Json | null {
  const copy = structuredClone(settings);
  const stored = [copy, inner(copy)]
    .map((place) => place["mcp_servers"])
    .filter(isObject)
    .find((servers) => server.name in servers)?.[server.name];
  if (!isObject(stored) || stored["url"] !== server.url) return null;
  const pins = new Map(Object.entries(isObject(stored["pins"]) ? stored["pins"] : {}));
  if (pin) pins.set(tool, pin);
  else pins.delete(tool);
  stored["pins"] = Object.fromEntries(pins);
  return copy;
}

/** Return the members without fields of their own. */
export function otherSettings(settings: Json): Json {
  const without = (object: Json): Json =>
    Object.fromEntries(
      Object.entries(object).filter(([name]) => !(FIELDS as readonly string[]).includes(name)),
    );
  const others = without(settings);
  const setups = others[SETUPS];
  if (isObject(setups) && isObject(setups[DEFAULT])) {
    const rest = without(setups[DEFAULT]);
    others[SETUPS] = { ...setups, [DEFAULT]: rest };
  }
  return others;
}

/** Return settings whose members without fields of their own are those of `others`. */
export function withOthers(settings: Json, others: Json): Json {
  const own = (object: Json): Json =>
    Object.fromEntries(
      Object.entries(object).filter(
        ([name, value]) => (FIELDS as readonly string[]).includes(name) && !isEmpty(value),
      ),
    );
  const merged: Json = { ...own(settings), ...others };
  const setup = own(inner(settings));
  if (Object.keys(setup).length > 0) {
    const setups = isObject(others[SETUPS]) ? others[SETUPS] : {};
    const rest = isObject(setups[DEFAULT]) ? setups[DEFAULT] : {};
    merged[SETUPS] = { ...setups, [DEFAULT]: { ...setup, ...rest } };
  }
  return merged;
}

const isEmpty = (value: unknown): boolean =>
  value === "" || value === null || (isObject(value) && Object.values(value).every(isEmpty));
