/** The cache of what the server answered. */

import {
  createInfiniteQuery as createInfiniteQueryOf,
  createQuery as createQueryOf,
  QueryClient,
} from "@tanstack/svelte-query";

import { onChange } from "./changed.ts";
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

onChange((change) => {
  if (change === "nobody") queries.clear();
  else if (change === "other-user") void queries.resetQueries();
  else void queries.invalidateQueries(change.key ? { queryKey: change.key } : {});
});

// No component provides the cache: the root would load it for screens that do without.
const ours = () => queries;
export const createQuery = ((options: never) => createQueryOf(options, ours)) as typeof createQueryOf;
export const createInfiniteQuery = ((options: never) =>
  createInfiniteQueryOf(options, ours)) as typeof createInfiniteQueryOf;
