/** Reads JSON Schema 2020-12 for a form. The server judges values; this only chooses controls. */

export type Schema = Readonly<Record<string, unknown>>;
export type Value = unknown;
export type Fields = Record<string, unknown>;

const MAX_REFERENCES = 50;

export const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
export const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
const list = (value: unknown): Schema[] => (Array.isArray(value) ? value.filter(isObject) : []);

/** Return what a reference such as `#/$defs/Name` names; nothing if it is not in the document. */
function target(reference: unknown, root: Schema): Schema {
  if (reference === "#") return root;
  if (typeof reference !== "string" || !reference.startsWith("#/")) return {};
  let found: unknown = root;
  for (const step of reference.slice(2).split("/")) {
    const name = decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
    found = isObject(found) && Object.hasOwn(found, name) ? found[name] : undefined;
  }
  return isObject(found) ? found : {};
}

/** Return both schemas as one: members of objects come together, the second decides the rest. */
function merged(first: Schema, second: Schema): Schema {
  const whole: Fields = { ...first, ...second };
  if (isObject(first["properties"]) && isObject(second["properties"])) {
    const properties: Fields = { ...first["properties"] };
    for (const [name, part] of Object.entries(second["properties"])) {
      const known = properties[name];
      properties[name] = isObject(known) && isObject(part) ? merged(known, part) : (known ?? part);
      if (isObject(part) && !isObject(known)) properties[name] = part;
    }
    whole["properties"] = properties;
  }
  const required = [first["required"], second["required"]].filter(Array.isArray).flat();
  if (required.length > 0) whole["required"] = [...new Set(required)];
  return whole;
}

/** Return a schema without references, `allOf` and conditions, as it is for a value. */
export function resolved(schema: unknown, root: Schema, value: Value): Schema {
  let whole: Schema = isObject(schema) ? schema : {};
  for (let count = 0; count < MAX_REFERENCES; count += 1) {
    if ("$ref" in whole) {
      const { $ref, ...rest } = whole;
      whole = merged(target($ref, root), rest);
    } else if ("allOf" in whole) {
      const { allOf, ...rest } = whole;
      whole = list(allOf).reduce((sum, part) => merged(sum, resolved(part, root, value)), rest as Schema);
    } else if ("if" in whole) {
      const { if: condition, then, else: otherwise, ...rest } = whole;
      const branch = fits(condition, root, value) ? then : otherwise;
      whole = isObject(branch) ? merged(rest, branch) : rest;
    } else break;
  }
  return whole;
}

export function typeOf(value: Value): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value;
}

/** Return whether a value has the form of a schema, by its types, constants and members. */
export function fits(schema: unknown, root: Schema, value: Value, depth = 0): boolean {
  if (typeof schema === "boolean") return schema;
  if (depth > MAX_REFERENCES) return true;
  const { anyOf, oneOf, ...whole } = resolved(schema, root, value);
  const choices = list(anyOf ?? oneOf);
  if (choices.length > 0 && !choices.some((each) => fits(each, root, value, depth + 1))) return false;
  const types = [whole["type"] ?? []].flat();
  const type = typeOf(value);
  if (types.length > 0 && !types.includes(type) && !(types.includes("integer") && Number.isInteger(value)))
    return false;
  if ("const" in whole && !same(whole["const"], value)) return false;
  if (Array.isArray(whole["enum"]) && !whole["enum"].some((each) => same(each, value))) return false;
  if (Array.isArray(value))
    return !isObject(whole["items"]) || value.every((each) => fits(whole["items"], root, each, depth + 1));
  if (!isObject(value)) return true;
  const required = Array.isArray(whole["required"]) ? whole["required"] : [];
  if (required.some((name) => !Object.hasOwn(value, String(name)))) return false;
  const properties = isObject(whole["properties"]) ? whole["properties"] : {};
  if (whole["additionalProperties"] === false && Object.keys(value).some((name) => !(name in properties)))
    return false;
  return Object.entries(properties).every(
    ([name, part]) => !Object.hasOwn(value, name) || fits(part, root, value[name], depth + 1),
  );
}

/** What a form shows for a schema. */
export interface Shape {
  schema: Schema;
  kind: "string" | "number" | "boolean" | "object" | "array" | "options" | "choice" | "json";
  nullable: boolean;
  /** The values of `options`, or the schemas of `choice`. */
  options: readonly { value: unknown; label: string }[];
}

const named = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
const KINDS: Record<string, Shape["kind"]> = {
  string: "string",
  integer: "number",
  number: "number",
  boolean: "boolean",
  object: "object",
  array: "array",
};

/** Return how a form shows a schema. */
export function shapeOf(given: unknown, root: Schema, value: Value, language: string): Shape {
  const schema = resolved(given, root, value);
  const one = (kind: Shape["kind"], options: Shape["options"] = [], nullable = false): Shape => ({
    schema,
    kind,
    nullable,
    options,
  });
  if ("const" in schema) return one("options", [{ value: schema["const"], label: named(schema["const"]) }]);
  if (Array.isArray(schema["enum"]))
    return one(
      "options",
      schema["enum"].map((each: unknown) => ({ value: each, label: named(each) })),
    );
  const { anyOf, oneOf, ...outer } = schema;
  const all = list(oneOf ?? anyOf).map((each) => resolved(each, root, value));
  if (all.length > 0) {
    const branches = all.filter((each) => each["type"] !== "null");
    const nullable = branches.length < all.length;
    if (branches.length > 0 && branches.every((each) => "const" in each))
      return one(
        "options",
        branches.map((each) => ({
          value: each["const"],
          label: textsOf(each, language).title || named(each["const"]),
        })),
        nullable,
      );
    if (branches.length === 1)
      return { ...shapeOf(merged(branches[0]!, outer), root, value, language), nullable };
    if (branches.every((each) => each["type"] === "string" || each["type"] === "integer") && isInput(outer))
      return one("string", [], nullable);
    return one(
      "choice",
      branches.map((each, index) => ({
        value: merged(outer, each),
        label: textsOf(each, language).title || `${index + 1}: ${[each["type"] ?? "…"].flat().join(", ")}`,
      })),
      nullable,
    );
  }
  const types = [schema["type"] ?? (isObject(schema["properties"]) ? "object" : [])].flat().map(String);
  const real = types.filter((each) => each !== "null");
  const nullable = real.length < types.length;
  if (real.length > 1)
    return one(
      "choice",
      real.map((type) => ({ value: { ...schema, type }, label: type })),
      nullable,
    );
  return one(KINDS[real[0] ?? ""] ?? "json", [], nullable);
}

const isInput = (schema: Schema): boolean => typeof schema["x-heddle-input"] === "string";

/** Return the title and the description of a schema in a language. */
export function textsOf(schema: Schema, language: string): { title: string; description: string } {
  const translations = schema["x-heddle-i18n"];
  const known = isObject(translations) && isObject(translations[language]) ? translations[language] : {};
  const text = (name: string): string => String(known[name] ?? schema[name] ?? "");
  return { title: text("title"), description: text("description") };
}
