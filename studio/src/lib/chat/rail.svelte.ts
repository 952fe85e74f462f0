/** Whether the list of conversations is open on a phone. */
export const rail = $state({ open: false });
