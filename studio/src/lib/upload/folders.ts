/** The files that a user drops or chooses, those in folders included. */

export interface ChosenFile {
  file: File;
  /** Its folders and its name, such as `week 1/looms.pdf`. */
  path: string;
  /** The address of a page that is read in place of the content. */
  url?: string;
}

/** Return a file that names a page of the web.
 *
 * Throws TypeError: The text is no address.
 */
export function chosenPage(text: string): ChosenFile {
  const { href, host, pathname, search } = new URL(text.includes("://") ? text : `https://${text}`);
  const name = `${host}${pathname}${search}`.replace(/[^\p{L}\p{N}.-]+/gu, "-").replace(/-$/, "");
  const file = new File([href], `${name.slice(0, MAX_NAME_CHARACTERS)}.txt`, { lastModified: 0 });
  return { file, path: file.name, url: href };
}

const MAX_NAME_CHARACTERS = 200;
const LEFT_BY_SYSTEMS = new Set(["thumbs.db", "desktop.ini"]);

/** Return what was chosen with an `<input type="file">`. */
export const chosenFiles = (files: Iterable<File>): ChosenFile[] =>
  [...files].map((file) => ({ file, path: file.webkitRelativePath || file.name })).filter(isWanted);

/** Return what was dropped. Folders are only known until the event ends, so call it at once. */
export async function droppedFiles(transfer: DataTransfer): Promise<ChosenFile[]> {
  const entries = [...transfer.items]
    .map((item) => item.webkitGetAsEntry())
    .filter((entry) => entry !== null);
  if (entries.length === 0) return chosenFiles(transfer.files);
  const files = await Promise.all(entries.map((entry) => filesOf(entry, "")));
  return files.flat().filter(isWanted);
}

async function filesOf(entry: FileSystemEntry, folder: string): Promise<ChosenFile[]> {
  const path = folder + entry.name;
  if (entry.isDirectory) {
    const inside = await entriesOf(entry as FileSystemDirectoryEntry);
    return (await Promise.all(inside.map((each) => filesOf(each, `${path}/`)))).flat();
  }
  const file = await new Promise<File>((resolve, reject) =>
    (entry as FileSystemFileEntry).file(resolve, reject),
  );
  return [{ file, path }];
}

/** Return what is in a folder. A reader returns at most a hundred entries at once. */
async function entriesOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const entries: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (some.length === 0) return entries;
    entries.push(...some);
  }
}

/** Say whether a file is a user's, and not one that a system left in a folder. */
const isWanted = ({ file }: ChosenFile): boolean =>
  !file.name.startsWith(".") && !LEFT_BY_SYSTEMS.has(file.name.toLowerCase());
