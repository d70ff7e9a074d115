import { Console } from 'node:console';
import { Writable } from 'node:stream';

/**
 * Sends what is written with `console` from now on elsewhere. Agents run in this process, and what they write would
 * break the progress line of a terminal, and the lines of JSON that a program reads.
 *
 * @returns puts everything back as it was
 */
export function redirectConsole(print: (text: string) => void): () => void {
  const before = globalThis.console;
  const output = new Writable({
    decodeStrings: false,
    write: (chunk, _encoding, done) => {
      print(String(chunk));
      done();
    },
  });
  globalThis.console = new Console(output);
  return () => {
    globalThis.console = before;
  };
}
