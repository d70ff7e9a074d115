import type { Store } from '@agentlightning/core';
import { StoreClient } from '@agentlightning/core/store-client';
import { type OpenStoreOptions, openStore } from '@agentlightning/store';

/** Opens a store by its address: `sqlite:<file>` in this process, `http(s)://…` at a store server. */
export async function openAnyStore(options: { readonly url: string; readonly apiKey: string | null }): Promise<Store> {
  const { url, apiKey } = options;
  if (!/^https?:/.test(url)) return await openLocalStore(url);
  return new StoreClient({ baseUrl: url, ...(apiKey === null ? {} : { apiKey }) });
}

/** Opens a store in this process, and makes its folder when it is not there. */
export async function openLocalStore(url: string, options: OpenStoreOptions = {}): ReturnType<typeof openStore> {
  return await openStore(url, options);
}
