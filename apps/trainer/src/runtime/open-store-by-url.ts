import type { Store } from '@agentlightning/core';
import { StoreClient } from '@agentlightning/core/store-client';
import { openStore } from '@agentlightning/store';
import { areInsecureKeysAllowed } from '../config/environment.ts';

/** The location of a store and the key for it. */
export interface StoreByUrlOptions {
  readonly url: string;
  readonly apiKey: string | null;
  /** Retry limit for requests to an unavailable store, in milliseconds. @default about 6000; 10000 for PostgreSQL */
  readonly unreachableAfterMs?: number;
}

/** Opens a store by its URL: a database (`sqlite:<file>`, `postgres://…`) in this process, or a store server (`http(s)://…`). */
export async function openStoreByUrl({ url, apiKey, unreachableAfterMs }: StoreByUrlOptions): Promise<Store> {
  const retry = unreachableAfterMs === undefined ? {} : { unreachableAfterMs };
  if (!/^https?:/.test(url)) return await openStore(url, retry);
  const allowInsecureKey = areInsecureKeysAllowed();
  return new StoreClient({ baseUrl: url, allowInsecureKey, ...retry, ...(apiKey === null ? {} : { apiKey }) });
}
