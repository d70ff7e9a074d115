/** Exclusive access to standard output. */
export interface RedirectedStdout {
  /** Writes to the real standard output. */
  readonly write: (text: string) => void;
  /** Ends the redirection. */
  readonly release: () => void;
}

/**
 * Sends everything that is written to `process.stdout` to standard error, also by `console` methods that were captured earlier.
 * Agents run in this process, and their output must not mix with the JSON lines on standard output.
 */
export function redirectStdout(): RedirectedStdout {
  const { stdout, stderr } = process;
  const { write } = stdout;
  stdout.write = stderr.write.bind(stderr) as typeof stdout.write;
  return {
    write: (text) => void write.call(stdout, text),
    release: () => {
      stdout.write = write;
    },
  };
}
