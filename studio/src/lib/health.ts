import { api, data } from "./api/client.ts";
import { ApiError } from "./api/errors.ts";
import type { components } from "./api/schema.d.ts";

export type HealthDetails = components["schemas"]["HealthDetails"];

/** Return the health of all services. The status 503 has a report, too, not an error. */
export async function readHealth(signal: AbortSignal): Promise<HealthDetails> {
  try {
    return await data(api.GET("/health/details", { signal }));
  } catch (error) {
    if (error instanceof ApiError && error.status === 503 && "services" in error.body)
      return error.body as HealthDetails;
    throw error;
  }
}
