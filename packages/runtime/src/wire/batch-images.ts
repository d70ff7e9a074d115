import { ValidationError } from '@agentlightning/core';

/** The images of a batch, each once. */
export class BatchImages {
  /** The decoded files, in the order of their first use. */
  readonly files: Uint8Array[] = [];
  readonly #indices: Map<string, number> = new Map();

  /**
   * The index of an image in `files`.
   *
   * @param url - data URL with a file in base64
   * @throws ValidationError for other URLs
   */
  indexOf(url: string): number {
    const known = this.#indices.get(url);
    if (known !== undefined) return known;
    const start = url.indexOf(';base64,');
    if (!url.startsWith('data:') || start < 0) {
      const message = `it is ${url.slice(0, 60)}; give a data URL with a file in base64`;
      throw new ValidationError('training batch', [{ path: 'data.images', message }]);
    }
    const index = this.files.push(Buffer.from(url.slice(start + ';base64,'.length), 'base64')) - 1;
    this.#indices.set(url, index);
    return index;
  }
}
