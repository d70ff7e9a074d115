import path from 'node:path';
import { forkModule } from '../child-process.ts';

/** A store server in a separate process. */
export interface ServedStore {
  readonly url: string;
  /** Memory of its process after garbage collection, in bytes. */
  memoryBytes(): Promise<number>;
  /** CPU time of the serving thread so far, in milliseconds, independent of other load. */
  servingCpuMs(): Promise<number>;
  close(): Promise<void>;
}

/** Serves the store at a location from another process. */
export async function serve(location: string): Promise<ServedStore> {
  const module = path.join(import.meta.dirname, 'store-process.ts');
  const { ready, request, close } = await forkModule<{ readonly url: string }>(module, [location]);
  return { url: ready.url, memoryBytes: () => request('memory'), servingCpuMs: () => request('cpu'), close };
}
