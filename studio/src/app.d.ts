import type { ApiError } from "#lib/api/errors.ts";

declare global {
  namespace App {
    interface Error {
      message: string;
      api?: ApiError;
    }
  }
}
