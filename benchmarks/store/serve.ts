import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

/** A store's server in a process of its own. */
export interface ServedStore {
  readonly url: string;
  /** How much memory its process holds, in bytes, after collecting garbage. */
  memoryBytes(): Promise<number>;
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
    memoryBytes: async () => {
      child.send('memory');
      const [{ rssBytes }] = (await once(child, 'message')) as [{ readonly rssBytes: number }];
      return rssBytes;
    },
    close: async () => {
      child.send('close');
      await ended;
    },
  };
}
