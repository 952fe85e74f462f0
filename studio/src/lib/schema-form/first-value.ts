/** The value of a new item of a list, or of a form that the user chose. */

import { type Schema, shapeOf } from "./schema.ts";

export function firstValue(schema: unknown, root: Schema): unknown {
  const shape = shapeOf(schema, root, undefined, "en");
  if (shape.schema["default"] !== undefined) return shape.schema["default"];
  switch (shape.kind) {
    case "string":
      return "";
    case "number":
      return Number(shape.schema["minimum"] ?? 0);
    case "boolean":
      return false;
    case "array":
      return [];
    case "object":
      return constants(shape.schema, root);
    case "options":
      return shape.options[0]?.value;
    case "choice":
      return firstValue(shape.options[0]?.value, root);
    case "json":
      return null;
  }
}

/** Return the members that can have only one value: they tell the forms of a choice apart. */
function constants(schema: Schema, root: Schema): Record<string, unknown> {
  const required = Array.isArray(schema["required"]) ? schema["required"].map(String) : [];
  const properties = (schema["properties"] ?? {}) as Record<string, unknown>;
  const members = Object.entries(properties)
    .map(([name, part]) => ({ name, shape: shapeOf(part, root, undefined, "en") }))
    .filter(({ name, shape }) => "const" in shape.schema && required.includes(name));
  return Object.fromEntries(members.map(({ name, shape }) => [name, shape.schema["const"]]));
}
