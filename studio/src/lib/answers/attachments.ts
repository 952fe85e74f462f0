/** Files that a user adds to a question: pictures, and documents that become text. */

import { ApiError } from "#lib/api/errors.ts";

/** A file as a `data:` URL. */
export interface Attachment {
  /** Empty for stored pictures. */
  name: string;
  url: string;
  picture: boolean;
}
/** Why a file cannot be added. */
export type Refusal = "blind" | "kind" | "many" | "large" | "unreadable" | "long";

export const PICTURE_TYPES = ["image/png", "image/jpeg", "image/webp", "image/gif"];
/** The endings of documents with text; `tests/knowledge/store/test_documents.py` compares them. */
export const DOCUMENTS =
  ".bat .c .cc .cpp .cs .css .csv .docx .eml .epub .go .h .hpp .htm .html .ipynb .java .jl .js .json .jsx .kt " +
  ".log .lua .markdown .md .odp .ods .odt .pdf .php .pl .pptx .ps1 .py .r .rb .rs .rst .rtf .scala .sh .sql " +
  ".srt .swift .tex .text .toml .ts .tsv .tsx .txt .vtt .vue .xhtml .xlsx .xml .yaml .yml";
const ENDINGS: ReadonlySet<string> = new Set(DOCUMENTS.split(" "));
export const MAX_ATTACHMENTS = 8;
/** Of all documents of a question: a request is a third larger. */
export const MAX_MEGABYTES = 10;
const MEGABYTE = 1_000_000;
/** A larger picture is made smaller before it is sent. */
const MAX_PICTURE_BYTES = 1_000_000;
const MAX_PIXELS = 2_048;
const QUALITY = 0.85;
const TOO_LARGE = 413;

/** What a dialog for files offers. */
export const accepted = (vision: boolean): string => [...ENDINGS, ...(vision ? PICTURE_TYPES : [])].join();

/** Return a file as an attachment, or why it cannot be one.
 *
 * Args:
 *   before: The attachments of the question up to now.
 *   vision: Whether the model sees pictures.
 */
export async function read(
  file: File,
  before: readonly Attachment[],
  vision: boolean,
): Promise<Attachment | Refusal> {
  const picture = PICTURE_TYPES.includes(file.type);
  if (before.length >= MAX_ATTACHMENTS) return "many";
  if (picture && !vision) return "blind";
  if (!picture && !ENDINGS.has(/\.[^.]*$/.exec(file.name.toLowerCase())?.[0] ?? "")) return "kind";
  // Base64 has four characters for three bytes.
  const bytes = before.reduce((sum, { url, picture }) => sum + (picture ? 0 : url.length * 0.75), file.size);
  if (!picture && bytes > MAX_MEGABYTES * MEGABYTE) return "large";
  try {
    const content = picture && file.size > MAX_PICTURE_BYTES ? await smaller(file) : file;
    return { name: file.name, url: await dataUrl(content), picture };
  } catch {
    return "unreadable";
  }
}

/** Return which attachment the server refuses, and why; null if a failure is not about one.
 *
 * Args:
 *   first: The place of the first one in the content of the question.
 */
export function refusalOf(
  error: unknown,
  attachments: readonly Attachment[],
  first: number,
): { name: string; why: Refusal } | null {
  if (!(error instanceof ApiError) || attachments.length === 0) return null;
  if (error.status === TOO_LARGE) return { name: attachments.at(-1)!.name, why: "large" };
  const place = /\bcontent\[(\d+)\]/.exec(error.param || (error.violations[0]?.field ?? ""));
  const attachment = place && attachments[Number(place[1]) - first];
  if (!attachment) return null;
  return { name: attachment.name, why: error.code === "file_too_large" ? "long" : "unreadable" };
}

/** Return a question as the content of an item. */
export const contentOf = (text: string, attachments: readonly Attachment[]) => [
  ...(text ? [{ type: "input_text", text }] : []),
  ...attachments.map(({ name, url, picture }) =>
    picture
      ? { type: "input_image", image_url: url }
      : { type: "input_file", filename: name, file_data: url },
  ),
];

async function smaller(file: Blob): Promise<Blob> {
  const bitmap = await createImageBitmap(file);
  const scale = Math.min(1, MAX_PIXELS / Math.max(bitmap.width, bitmap.height));
  const canvas = new OffscreenCanvas(Math.round(bitmap.width * scale), Math.round(bitmap.height * scale));
  const context = canvas.getContext("2d")!;
  context.fillStyle = "white"; // JPEG has no transparency
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  return canvas.convertToBlob({ type: "image/jpeg", quality: QUALITY });
}

function dataUrl(file: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error ?? new Error("unreadable"));
    reader.readAsDataURL(file);
  });
}
