import { vi } from 'vitest';
import { runCommandLine } from '../src/cli/command-line.ts';
import { assertDocumentedOutput } from './documented-output.ts';

/** How an `agl` command ended. */
export interface EndedCommand {
  readonly code: number;
  readonly output: string;
  readonly stderr: string;
}

/**
 * Runs an `agl` command to its end in this process, which takes a hundredth of a new process. For commands that neither
 * serve nor load a configuration: those change what is global to a process.
 *
 * @param args the arguments, without the program
 * @param options `cwd`: the current folder of the command, by default that of this process
 */
export async function runAgl(
  args: readonly string[],
  { cwd = process.cwd() }: { readonly cwd?: string } = {},
): Promise<EndedCommand> {
  const folder = process.cwd();
  const written = { output: '', stderr: '' };
  const streams = [
    vi.spyOn(process.stdout, 'write').mockImplementation(collect((text) => (written.output += text))),
    vi.spyOn(process.stderr, 'write').mockImplementation(collect((text) => (written.stderr += text))),
  ];
  process.chdir(cwd);
  try {
    const code = await runCommandLine(args);
    assertDocumentedOutput(args, written.output);
    return { code, ...written };
  } finally {
    process.chdir(folder);
    for (const stream of streams) stream.mockRestore();
  }
}

/** Writes to a stream: `write(chunk, encoding?, callback?)`. */
function collect(take: (text: string) => void): typeof process.stdout.write {
  return (chunk: string | Uint8Array, ...rest: readonly unknown[]) => {
    take(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString());
    const done = rest.find((value): value is () => void => typeof value === 'function');
    if (done !== undefined) queueMicrotask(done);
    return true;
  };
}
