/** The models that an assistant can have. */

import { api, data } from "#lib/api/client.ts";
import type { components } from "#lib/api/schema.d.ts";

export type Connector = components["schemas"]["ConnectorList"]["connectors"][number];

/** The connector of the embedded model: it works everywhere, and answers simply. */
const DEMONSTRATION = "local";

/** The connector of the organisation's default model. Without one, answers quote the documents. */
const DEFAULT = "default";

/** A model, as an assistant names it. */
export interface ModelReference {
  connector: string;
  model: string;
}

export interface Choice extends ModelReference {
  title: string;
  /** Whether it is the embedded model. */
  demonstration: boolean;
  /** Whether it is the default model of the organisation. */
  byDefault: boolean;
  /** Whether it shows the prompt, and answers nothing. */
  debugging: boolean;
  readsImages: boolean;
  /** The model that answers now if it is the default one; empty if none is connected. */
  answering: string;
}

/** Return what a model is recognised by. */
export const keyOf = ({ connector, model }: ModelReference): string => `${connector}/${model}`;

/** Return the models that answer in text, the best choice first: the default one, those of
 * providers, the embedded one, and those that show prompts.
 *
 * Args:
 *   answering: The model that answers for the default one, as `connector/model`.
 */
export function choicesOf(connectors: readonly Connector[], answering = ""): Choice[] {
  const rank = ({ byDefault, demonstration, debugging }: Choice): number =>
    Number(demonstration) + 2 * Number(debugging) - Number(byDefault);
  return connectors
    .filter((each) => each.available && !each.generates_images)
    .flatMap(({ name, models, debugging }) =>
      models.map(({ id, title, reads }) => ({
        connector: name,
        model: id,
        title,
        demonstration: name === DEMONSTRATION,
        byDefault: name === DEFAULT,
        debugging,
        readsImages: reads.includes("image"),
        answering: name === DEFAULT ? answering.slice(answering.indexOf("/") + 1) : "",
      })),
    )
    .sort((one, other) => rank(one) - rank(other));
}

export async function fetchChoices(signal: AbortSignal): Promise<Choice[]> {
  const { connectors, default_model } = await data(api.GET("/connectors", { signal }));
  return choicesOf(connectors, default_model ?? "");
}
