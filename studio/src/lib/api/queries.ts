/** The cache of what the server answered. */

import { QueryClient } from "@tanstack/svelte-query";

import { ApiError } from "./errors.ts";

const MAX_RETRIES = 2;
const FRESH_MILLISECONDS = 10_000;

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // Failures are shown, not waited for: the browser's idea of "offline" is often wrong.
      networkMode: "always",
      staleTime: FRESH_MILLISECONDS,
      retry: (count, error) => count < MAX_RETRIES && error instanceof ApiError && error.temporary,
    },
    mutations: { networkMode: "always", retry: false },
  },
});
