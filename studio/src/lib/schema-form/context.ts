/** What all controls of a form share. */

import { createContext } from "svelte";

import type { Schema, Value } from "./schema.ts";

export interface FormContext {
  readonly root: Schema;
  readonly disabled: boolean;
  errors(path: string): readonly string[];
  /** What the control of a path is called in the page. */
  field(path: string): string;
}
export const [formContext, setFormContext] = createContext<FormContext>();

/** A control: a part of the value, and how it is changed. `undefined` removes it. */
export interface NodeProps {
  schema: unknown;
  value: Value;
  /** As the server names it, such as `filter.years[0]`. */
  path: string;
  name: string;
  required: boolean;
  change: (value: Value) => void;
}
