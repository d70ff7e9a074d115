import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

/** Maximum number of kept lines. */
const maxLines = 20;

/** The longest line that is kept, in characters. */
const maxLineLength = 2000;

/** The native stack with which Node.js reports that memory ran out: as many lines as are kept, without the reason. */
const nativeFrame = /^\s*\d+: 0x[\da-f]+ |^-+ Native stack trace -+$/;

/** The last lines of the output of a process, without blank ones and native stacks. */
export class OutputTail {
  readonly #lines: string[] = [];

  /** @param onLine - called with every line */
  constructor(output: Readable, onLine: (line: string) => void = () => undefined) {
    createInterface({ input: output }).on('line', (line) => {
      onLine(line);
      if (line.trim() === '' || nativeFrame.test(line)) return;
      this.#lines.push(line.slice(0, maxLineLength));
      if (this.#lines.length > maxLines) this.#lines.shift();
    });
  }

  /** The last lines, oldest first. */
  get lines(): readonly string[] {
    return [...this.#lines];
  }
}

/** The last of these lines as the end of a message; empty without any. */
export function lastOutput(lines: readonly string[]): string {
  return lines.length === 0 ? '' : `; last output: ${lines.slice(-3).join(' / ')}`;
}
