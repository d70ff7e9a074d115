import type { Store } from '@agentlightning/core';
import { StoreClient } from '@agentlightning/core/store-client';
import { type OpenStoreOptions, openStore, openStoreInThread } from '@agentlightning/store';

/** Where a store is, and who will use it. */
export interface AnyStoreOptions {
  readonly url: string;
  readonly apiKey: string | null;
  /** Whether this process has much else to do, such as model calls: a file is then another thread's. @default false */
  readonly isBusy?: boolean;
}

/** Opens a store by its address: `sqlite:<file>` in this process, `http(s)://…` at a store server. */
export async function openAnyStore({ url, apiKey, isBusy = false }: AnyStoreOptions): Promise<Store> {
  if (/^https?:/.test(url)) return new StoreClient({ baseUrl: url, ...(apiKey === null ? {} : { apiKey }) });
  return isBusy ? await openStoreInThread(url) : await openLocalStore(url);
}

/** Opens a store in this process, and makes its folder when it is not there. */
export async function openLocalStore(url: string, options: OpenStoreOptions = {}): ReturnType<typeof openStore> {
  return await openStore(url, options);
}
