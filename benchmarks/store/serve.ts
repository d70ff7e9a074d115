import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

/** What the process of a store uses. */
export interface StoreUsage {
  /** How much memory it holds. */
  readonly rssBytes: number;
  /** For how long the thread that serves was at work so far: what else goes on in the machine does not count. */
  readonly servingCpuMs: number;
}

/** A store's server in a process of its own. */
export interface ServedStore {
  readonly url: string;
  /** What its process uses, after collecting garbage. */
  usage(): Promise<StoreUsage>;
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
    usage: async () => {
      child.send('usage');
      const [usage] = (await once(child, 'message')) as [StoreUsage];
      return usage;
    },
    close: async () => {
      child.send('close');
      await ended;
    },
  };
}
