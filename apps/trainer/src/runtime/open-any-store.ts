import type { Store } from '@agentlightning/core';
import { StoreClient } from '@agentlightning/core/store-client';
import { openStore } from '@agentlightning/store';

/** The location of a store and the key for it. */
export interface AnyStoreOptions {
  readonly url: string;
  readonly apiKey: string | null;
}

/** Opens a store by its URL: a database (`sqlite:<file>`, `postgres://…`) in this process, or a store server (`http(s)://…`). */
export async function openAnyStore({ url, apiKey }: AnyStoreOptions): Promise<Store> {
  if (/^https?:/.test(url)) return new StoreClient({ baseUrl: url, ...(apiKey === null ? {} : { apiKey }) });
  return await openStore(url);
}
