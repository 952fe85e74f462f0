/** The providers of models on the screen, and the settings of an organisation that they are in. */

import type { components } from "#lib/api/schema.d.ts";
import type { Connector } from "#lib/models/models.ts";
import {
  isObject,
  type Json,
  modelText,
  modelValue,
  nameOf,
  objectAt,
  placeOf,
  textAt,
} from "../organizations/[slug]/settings.ts";

export type Check = components["schemas"]["CheckProviderResponse"];
export type Organization = components["schemas"]["StoredOrganization"];

/** The settings of an organisation's models that are no provider's. */
export const DEFAULT_MODEL = "global_default_model";
export const SMALL_MODEL = "small_fast_model";
export const EMBEDDING_MODEL = "embedding_model";
export const RERANKING_MODEL = "reranking_model";
/** The connector of the default model. */
const DEFAULT_CONNECTOR = "default";
/** LAMB has another name for this provider. */
const OLD_NAMES: Readonly<Record<string, string>> = { banana_img: "google" };
/** The order of the cards. Others follow. */
const ORDER = ["openai", "anthropic", "ollama", "banana_img"];
/** Models that answer no questions, by the names that providers give them. */
const OTHER_PURPOSE =
  /embed|rerank|whisper|tts|dall-e|image|moderation|transcribe|realtime|audio|davinci|babbage|bge-|minilm/i;

/** What one enters about a provider. */
export interface Entry {
  address: string;
  /** The mask of a secret keeps the stored one. */
  key: string;
  models: string;
  enabled: boolean;
}

/** Where the settings of a provider are: with the organisation, or with the operator. */
export type Source = "organization" | "environment" | "found" | null;

/** Return the providers that an organisation can set up, as the screen shows them. */
export const providersOf = (connectors: readonly Connector[]): Connector[] =>
  connectors
    .filter((each) => each.settings.length > 0)
    .sort((one, other) => rank(one.name) - rank(other.name));

const rank = (name: string): number => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length);

/** Return the member of `providers` for a connector. */
function memberOf(settings: Json, connector: string): string {
  const providers = objectAt(settings, "providers");
  const old = OLD_NAMES[connector];
  return old && old in providers && !(connector in providers) ? old : connector;
}

/** Return the stored settings of a provider; null if there are none. */
export function storedProvider(settings: Json, connector: string): Json | null {
  const copy = structuredClone(settings);
  const provider = objectAt(copy, "providers")[memberOf(copy, connector)];
  return isObject(provider) && Object.keys(provider).length > 0 ? provider : null;
}

const addressName = (provider: Json): string => nameOf(provider, "base_url", "endpoint", "url");

/** Return an address with a scheme: people leave it out. The test suggests the other one if it is wrong. */
export const withScheme = (address: string): string =>
  !address.trim() || address.includes("://") ? address.trim() : `https://${address.trim()}`;

export function entryOf(provider: Json | null): Entry {
  const known = provider ?? {};
  const models = known["models"];
  return {
    address: textAt(known, addressName(known)),
    key: textAt(known, "api_key"),
    models: Array.isArray(models) ? models.join("\n") : textAt(known, "models"),
    enabled: known["enabled"] !== false,
  };
}

/** Return settings with a provider. If the organisation has no default model, `models` has its first. */
export function withProvider(
  settings: Json,
  connector: string,
  entry: Entry,
  models: readonly string[],
): Json {
  const copy = structuredClone(settings);
  const name = memberOf(copy, connector);
  const providers = objectAt(copy, "providers");
  const stored = providers[name];
  const provider: Json = isObject(stored) ? stored : {};
  const listed = entry.models
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
  const members = {
    [addressName(provider)]: entry.address.trim(),
    api_key: entry.key.trim(),
    models: listed.length > 0 ? listed : "",
  };
  for (const [member, value] of Object.entries(members)) {
    if (value) provider[member] = value;
    else delete provider[member];
  }
  provider["enabled"] = entry.enabled;
  providers[name] = provider;
  const first = firstModel(listed.length > 0 ? listed : models);
  return !chosenModel(copy, DEFAULT_MODEL) && first && entry.enabled
    ? withModel(copy, DEFAULT_MODEL, `${connector}/${first}`)
    : copy;
}

/** Return settings without a provider, and without the choice of its models. */
export function withoutProvider(settings: Json, connector: string): Json {
  const copy = structuredClone(settings);
  delete objectAt(copy, "providers")[memberOf(copy, connector)];
  for (const member of [DEFAULT_MODEL, SMALL_MODEL])
    if (chosenModel(copy, member).startsWith(`${connector}/`)) delete placeOf(copy, member)[member];
  return copy;
}

/** Return a chosen model as `connector/model`; empty if there is none. */
export const chosenModel = (settings: Json, member: string): string =>
  modelText(placeOf(settings, member)[member]);

/** Return settings with a chosen model; an empty text takes the choice away. */
export const withModel = (settings: Json, member: string, text: string): Json =>
  withMember(settings, member, modelValue(text));

/** Return settings with a member; one that is null or empty is taken away. */
export function withMember(settings: Json, member: string, value: Json | string | null): Json {
  const copy = structuredClone(settings);
  const place = placeOf(copy, member);
  if (value) place[member] = value;
  else delete place[member];
  return copy;
}

/** Return the first model that answers questions, as far as names tell. */
export const firstModel = (models: readonly string[]): string =>
  models.find((each) => !OTHER_PURPOSE.test(each)) ?? models[0] ?? "";

/** Return where the settings of a provider come from. */
export function sourceOf(connector: Connector, stored: Json | null, own: boolean): Source {
  if (stored) return "organization";
  if (!own) return null;
  if (connector.settings_source === "environment") return "environment";
  const needsNoKey = !connector.settings.includes("api_key");
  return needsNoKey && connector.models.length > 0 ? "found" : null;
}

/** Return the models to choose from, as `connector/model`: those that providers list, or that the
 * settings name if nobody has asked. */
export function offeredModels(
  settings: Json,
  connectors: readonly Connector[],
  checks: Readonly<Record<string, Check>>,
  own: boolean,
): string[] {
  return connectors
    .filter((each) => !each.debugging && !each.generates_images && each.name !== DEFAULT_CONNECTOR)
    .flatMap(({ name, models }) => {
      const stored = storedProvider(settings, name);
      const limited = stored ? entryOf(stored).models.split("\n").filter(Boolean) : [];
      const listed = own ? models.map(({ id }) => id) : [];
      const checked = stored ? (checks[name]?.models.map(({ id }) => id) ?? []) : [];
      const known = [...new Set([...limited, ...listed, ...checked])];
      return known
        .filter((each) => limited.length === 0 || limited.includes(each))
        .map((each) => `${name}/${each}`);
    });
}
