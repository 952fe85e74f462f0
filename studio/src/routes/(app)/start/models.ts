/** The models that can answer in a first assistant. */

import { api, data } from "#lib/api/client.ts";

/** The connector of the embedded model: it works everywhere, and answers simply. */
const DEMONSTRATION = "local";
/** The connector that shows prompts and asks no model. */
const ECHO = "bypass";

export interface Choice {
  connector: string;
  model: string;
  title: string;
  /** Whether it is the embedded model. */
  demonstration: boolean;
}

/** Return the models, the embedded one last. */
export async function fetchModels(signal: AbortSignal): Promise<Choice[]> {
  const { connectors } = await data(api.GET("/connectors", { signal }));
  return connectors
    .filter((each) => each.available && !each.generates_images && each.name !== ECHO)
    .flatMap(({ name, models }) =>
      models.map(({ id, title }) => ({
        connector: name,
        model: id,
        title,
        demonstration: name === DEMONSTRATION,
      })),
    )
    .sort((one, other) => Number(one.demonstration) - Number(other.demonstration));
}
