import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { type Store, StoreClient } from '@agentlightning/core';
import { openStore } from '@agentlightning/store';

/** Opens a store by its address: `sqlite:<file>` in this process, `http(s)://…` at a store server. */
export async function openAnyStore(options: { readonly url: string; readonly apiKey: string | null }): Promise<Store> {
  const { url, apiKey } = options;
  if (/^https?:/.test(url)) return new StoreClient({ baseUrl: url, ...(apiKey === null ? {} : { apiKey }) });
  const file = url.replace(/^sqlite:/, '');
  if (file !== ':memory:') mkdirSync(path.dirname(path.resolve(file)), { recursive: true });
  return await openStore(url);
}
