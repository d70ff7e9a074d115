import type { Store } from '@agentlightning/core';
import { addressText } from '@agentlightning/core/internal';
import { newId } from '@agentlightning/core/store';
import { StoreClient } from '@agentlightning/core/store-client';
import { openStore } from '@agentlightning/store';
import { areInsecureKeysAllowed } from '../config/environment.ts';
import { type AnyStoreOptions, openAnyStore } from './open-any-store.ts';
import { type ServiceWait, waitForService } from './wait-for-service.ts';

/** How long a database may be unreachable before the wait is reported, in milliseconds. */
const probeTimeoutMs = 1000;

/**
 * Opens a store, and waits until it is available.
 *
 * @throws AgentLightningError UNREACHABLE when it is not available in time; UNAUTHENTICATED for a wrong key
 */
export async function waitForStore(location: AnyStoreOptions, wait: ServiceWait): Promise<Store> {
  const options = { ...wait, what: `the store at ${addressText(location.url)}` };
  return await waitForService(async () => {
    await probe(location);
    return await openAnyStore(location);
  }, options);
}

/** Sends a request with few retries, for a message as soon as it fails. */
async function probe({ url, apiKey }: AnyStoreOptions): Promise<void> {
  if (/^postgres(ql)?:/.test(url)) await (await openStore(url, { unreachableAfterMs: probeTimeoutMs })).close();
  if (!/^https?:/.test(url)) return;
  const allowInsecureKey = areInsecureKeysAllowed();
  const client = new StoreClient({
    baseUrl: url,
    allowInsecureKey,
    maxRetries: 0,
    ...(apiKey === null ? {} : { apiKey }),
  });
  await client.getWorker(newId('worker'));
}
