/** A value that changes often, as a value that changes rarely. */

/** Return what `value` returns, at most once in `milliseconds`, and at last what it was at the end. */
export function throttled<T>(value: () => T, milliseconds: number): { readonly current: T } {
  let current = $state.raw(value());
  let timer: ReturnType<typeof setTimeout> | undefined;
  let newest = value();
  $effect(() => {
    newest = value();
    timer ??= setTimeout(() => {
      timer = undefined;
      current = newest;
    }, milliseconds);
  });
  $effect(() => () => clearTimeout(timer));
  return {
    get current() {
      return current;
    },
  };
}
