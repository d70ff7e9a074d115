import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

/** A store server in a separate process. */
export interface ServedStore {
  readonly url: string;
  /** How much memory its process holds, in bytes, after collecting garbage: what is measured next starts colder for it. */
  memoryBytes(): Promise<number>;
  /** CPU time of the serving thread so far, in milliseconds, independent of other load. */
  servingCpuMs(): Promise<number>;
  close(): Promise<void>;
}

/** Serves the store at a location from another process. */
export async function serve(location: string): Promise<ServedStore> {
  const child = fork(path.join(import.meta.dirname, 'store-process.ts'), [location], {
    execArgv: ['--expose-gc', ...process.execArgv],
  });
  const ended = once(child, 'exit');
  const failed = ended.then(([code]): never => {
    throw new Error(`The store's process ended with code ${String(code)}`);
  });
  failed.catch(() => undefined);
  const [{ url }] = (await Promise.race([once(child, 'message'), failed])) as [{ readonly url: string }];
  return {
    url,
    memoryBytes: () => asked(child, 'memory'),
    servingCpuMs: () => asked(child, 'cpu'),
    close: async () => {
      child.send('close');
      await ended;
    },
  };
}

async function asked(child: ChildProcess, what: 'memory' | 'cpu'): Promise<number> {
  child.send(what);
  const [value] = (await once(child, 'message')) as [number];
  return value;
}
