import type { Store } from '@agentlightning/core';
import { StoreClient } from '@agentlightning/core/store-client';
import { openStore } from '@agentlightning/store';
import { areInsecureKeysAllowed } from '../config/environment.ts';

/** The location of a store and the key for it. */
export interface AnyStoreOptions {
  readonly url: string;
  readonly apiKey: string | null;
}

/** Opens a store by its URL: a database (`sqlite:<file>`, `postgres://…`) in this process, or a store server (`http(s)://…`). */
export async function openAnyStore({ url, apiKey }: AnyStoreOptions): Promise<Store> {
  if (!/^https?:/.test(url)) return await openStore(url);
  const allowInsecureKey = areInsecureKeysAllowed();
  return new StoreClient({ baseUrl: url, allowInsecureKey, ...(apiKey === null ? {} : { apiKey }) });
}
