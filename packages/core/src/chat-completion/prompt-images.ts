import type { JsonObject, JsonValue } from '../base/json.ts';
import { isObject, objectsOf, textOf } from '../base/json-access.ts';

/** Types of content parts that are images. */
const imageParts: ReadonlySet<string> = new Set(['image_url', 'input_image']);

/** The start of an image in a request, in a format that training runtimes read. */
const inlineImage = /^data:image\/(?:png|jpe?g|webp|gif);base64,/i;

/**
 * The URLs of the images in the messages of a Chat Completions request, in order; null for an image part without a URL.
 *
 * @param request - the request body; its images are in the lists of content parts
 */
export function promptImages({ messages }: JsonObject): readonly (string | null)[] {
  return objectsOf(messages).flatMap(({ content }) => objectsOf(content).filter(isImagePart).map(imageUrl));
}

/** Whether a content part is an image. */
export function isImagePart({ type }: JsonObject): boolean {
  return typeof type === 'string' && imageParts.has(type);
}

/** Whether an image is in the request itself, as a file of PNG, JPEG, WebP or GIF in base64. */
export function isInlineImage(url: string | null): url is string {
  return url !== null && inlineImage.test(url);
}

function imageUrl({ image_url: given }: Readonly<Record<string, JsonValue | undefined>>): string | null {
  return textOf(isObject(given) ? given.url : given);
}
