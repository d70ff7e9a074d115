import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

/** How many lines are kept. */
const maxLines = 20;

/** The longest line that is kept, in characters. */
const maxLineLength = 2000;

/** The last lines of the output of a process. */
export class LastLines {
  readonly #lines: string[] = [];

  /** @param onLine - called with every line */
  constructor(output: Readable, onLine: (line: string) => void = () => undefined) {
    createInterface({ input: output }).on('line', (line) => {
      this.#lines.push(line.slice(0, maxLineLength));
      if (this.#lines.length > maxLines) this.#lines.shift();
      onLine(line);
    });
  }

  /** The last lines, oldest first. */
  get lines(): readonly string[] {
    return [...this.#lines];
  }
}
