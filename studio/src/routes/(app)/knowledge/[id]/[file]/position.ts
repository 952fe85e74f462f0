/** Return a number of the query of an address; null if it has none that counts something. */
export function positionIn(query: Pick<URLSearchParams, "get">, name: string): number | null {
  const text = query.get(name) ?? "";
  return /^\d{1,9}$/.test(text) ? Number(text) : null;
}
