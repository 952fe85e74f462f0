/** What a tab remembers. */

type Texts = Pick<Storage, "getItem" | "setItem" | "removeItem" | "clear">;

const inMemory = (): Texts => {
  const texts = new Map<string, string>();
  return {
    getItem: (name) => texts.get(name) ?? null,
    setItem: (name, text) => void texts.set(name, text),
    removeItem: (name) => void texts.delete(name),
    clear: () => texts.clear(),
  };
};

const ofTab = (): Texts => {
  try {
    return sessionStorage;
  } catch {
    return inMemory();
  }
};

/** The storage of the tab, in memory where the browser denies it: in frames of other sites. */
export const tabStorage = ofTab();
