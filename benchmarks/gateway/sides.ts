import type { Requests } from './load.ts';
import type { Peer } from './peer.ts';
import type { GatewayProcess } from './processes.ts';
import { rawRequest } from './raw-client.ts';

/** The ways to the model that are compared. */
export interface Sides {
  readonly directUrl: string;
  readonly gateway: GatewayProcess;
  /** Those of others that are installed. */
  readonly peers: readonly Peer[];
}

/** The request of the benchmark: 2 kB of prompt. */
export function requestsTo(urls: readonly string[], more: object = {}, key: string | null = null): Requests {
  const body = { model: 'benchmark', messages: [{ role: 'user', content: 'y'.repeat(2000) }], ...more };
  const requests = urls.map((url) => rawRequest(url, body, key));
  return { port: requests[0]?.port ?? 0, bytes: requests.map(({ bytes }) => bytes) };
}
