/** Pictures that a user adds to a question. */

/** A picture as a `data:` URL. */
export interface Picture {
  name: string;
  url: string;
}

export const PICTURE_TYPES = ["image/png", "image/jpeg", "image/webp", "image/gif"];
export const MAX_PICTURES = 8;
/** A larger file is made smaller before it is sent. */
const MAX_BYTES = 1_000_000;
const MAX_PIXELS = 2_048;
const QUALITY = 0.85;

/** Return a picture of a file.
 *
 * Throws: The browser cannot read it.
 */
export async function readPicture(file: File): Promise<Picture> {
  const content = file.size > MAX_BYTES ? await smaller(file) : file;
  return { name: file.name, url: await dataUrl(content) };
}

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
