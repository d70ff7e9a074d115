import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { type Store, StoreClient } from '@agentlightning/core';
import { openStore } from '@agentlightning/store';

/** Opens a store by its address: `sqlite:<file>` in this process, `http(s)://…` at a store server. */
export async function openAnyStore(options: { readonly url: string; readonly apiKey: string | null }): Promise<Store> {
  const { url, apiKey } = options;
  if (!/^https?:/.test(url)) return await openLocalStore(url);
  return new StoreClient({ baseUrl: url, ...(apiKey === null ? {} : { apiKey }) });
}

/** Opens a store in this process, and makes its folder when it is not there. */
export async function openLocalStore(url: string): ReturnType<typeof openStore> {
  const file = url.replace(/^sqlite:/, '');
  if (file !== ':memory:') mkdirSync(path.dirname(path.resolve(file)), { recursive: true });
  return await openStore(url);
}
