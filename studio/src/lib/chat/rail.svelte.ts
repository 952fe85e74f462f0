import { page } from "$app/state";

/** Whether the chat stands in a page of others, which has its own way to other places. */
export const isFramed = (): boolean => page.route.id?.includes("/framed/") ?? false;

/** Whether the list of conversations is open on a phone. */
export const rail = $state({ open: false });
