import type { HandleClientError } from "@sveltejs/kit/hooks";

import { ApiError } from "#lib/api/errors.ts";

/** Keep what the server said about a screen that could not be shown. */
export const handleError: HandleClientError = ({ error }) =>
  error instanceof ApiError ? { message: error.message, api: error } : undefined;
