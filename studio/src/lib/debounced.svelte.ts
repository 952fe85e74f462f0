/** Return a value after it stayed the same for a while: searches start when the user pauses. */
export function debounced<T>(value: () => T, milliseconds = 80): { readonly current: T } {
  let current = $state.raw(value());
  $effect(() => {
    const next = value();
    const timer = setTimeout(() => (current = next), milliseconds);
    return () => clearTimeout(timer);
  });
  return {
    get current() {
      return current;
    },
  };
}
