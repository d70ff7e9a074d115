import path from 'node:path';
import type { Store } from '@agentlightning/core';
import { openStore } from '@agentlightning/store';

/** Uses the store of a folder with the data of runs, and closes it. */
export async function withStore<TResult>(folder: string, use: (store: Store) => Promise<TResult>): Promise<TResult> {
  const store = await openStore(path.join(folder, 'agl.db'));
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}
