/** Small pictures of assistants. */

const SIZE = 96;
const MAX_CHARACTERS = 12_000;
const QUALITIES = [0.9, 0.7, 0.5, 0.3];

/** Return a picture as the `data:` URL of a small square of its middle.
 *
 * Throws: It is not a picture that the browser reads.
 */
export async function pictureOf(file: File): Promise<string> {
  const picture = await createImageBitmap(file);
  const side = Math.min(picture.width, picture.height);
  const canvas = Object.assign(document.createElement("canvas"), { width: SIZE, height: SIZE });
  const [x, y] = [(picture.width - side) / 2, (picture.height - side) / 2];
  canvas.getContext("2d")!.drawImage(picture, x, y, side, side, 0, 0, SIZE, SIZE);
  const sizes = QUALITIES.map((quality) => canvas.toDataURL("image/webp", quality));
  const small = sizes.find((each) => each.length <= MAX_CHARACTERS);
  if (!small) throw new Error("The picture stays too large.");
  return small;
}
