import { Console } from 'node:console';
import { Writable } from 'node:stream';

/**
 * Redirects the output of `console`. Agents run in this process, and their output would corrupt the progress line of a
 * terminal and the JSON lines.
 *
 * @returns a function that restores the console
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
