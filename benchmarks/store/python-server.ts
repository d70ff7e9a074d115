import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';

/** The interop tests' folder: they install the Python package, and know how to start its server. */
const interopFolder = path.resolve(import.meta.dirname, '../../packages/store/test/interop');

/** The server of the Python package Agent Lightning 0.3, over its store in memory. */
export interface PythonServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Starts the server of the Python package. */
export async function startPythonServer(python: string): Promise<PythonServer> {
  const child = spawn(python, ['-u', path.join(interopFolder, 'peer.py'), 'server'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  const lines = createInterface({ input: child.stdout });
  const [line] = (await Promise.race([
    once(lines, 'line'),
    ended.then(() => {
      throw new Error(`${python} ended before its server listened`);
    }),
  ])) as [string];
  const { url } = JSON.parse(line) as { readonly url: string };
  return {
    url,
    close: async () => {
      child.stdin.end();
      await ended;
    },
  };
}
