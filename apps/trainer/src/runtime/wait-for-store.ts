import type { Store } from '@agentlightning/core';
import { addressText } from '@agentlightning/core/internal';
import { newId } from '@agentlightning/core/store';
import { StoreClient } from '@agentlightning/core/store-client';
import { openStore } from '@agentlightning/store';
import { areInsecureKeysAllowed } from '../config/environment.ts';
import type { SharedSettings } from '../config/shared-settings.ts';
import { openStoreByUrl, type StoreByUrlOptions } from './open-store-by-url.ts';
import { type ServiceWait, waitForService } from './wait-for-service.ts';
import type { HealthCheck } from './watch-health.ts';

/** Delay after which the wait for an unreachable database is reported, in milliseconds. */
const probeTimeoutMs = 1000;

/**
 * Opens a store, and waits until it is available.
 *
 * @throws AgentLightningError UNREACHABLE when it is not available in time; UNAUTHENTICATED for a wrong key
 */
export async function waitForStore(location: StoreByUrlOptions, wait: ServiceWait): Promise<Store> {
  const options = { ...wait, what: `the store at ${addressText(location.url)}` };
  return await waitForService(async () => {
    await probe(location);
    return await openStoreByUrl(location);
  }, options);
}

/** Checks of a store server, which requests of the run to it would retry without a message. */
export function storeChecks({ storeUrl, storeApiKey }: StoreSettings): readonly HealthCheck[] {
  if (!isServer(storeUrl)) return [];
  return [{ what: 'the store', check: () => requestOnce({ url: storeUrl, apiKey: storeApiKey }) }];
}

type StoreSettings = Pick<SharedSettings, 'storeUrl' | 'storeApiKey'>;

function isServer(url: string): boolean {
  return /^https?:/.test(url);
}

/** Opens a database with few retries, for a message as soon as it fails. */
async function probe({ url, apiKey }: StoreByUrlOptions): Promise<void> {
  if (/^postgres(ql)?:/.test(url)) await (await openStore(url, { unreachableAfterMs: probeTimeoutMs })).close();
  if (isServer(url)) await requestOnce({ url, apiKey });
}

async function requestOnce({ url, apiKey }: StoreByUrlOptions): Promise<void> {
  const allowInsecureKey = areInsecureKeysAllowed();
  const client = new StoreClient({
    baseUrl: url,
    allowInsecureKey,
    maxRetries: 0,
    ...(apiKey === null ? {} : { apiKey }),
  });
  await client.getWorker(newId('worker'));
}
