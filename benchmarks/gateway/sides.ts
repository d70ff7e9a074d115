import type { Requests } from './load.ts';
import type { Peer } from './peer.ts';
import type { FloorProxy, GatewayProcess } from './processes.ts';
import { rawRequest } from './raw-client.ts';

/** The compared ways to the model. */
export interface Sides {
  readonly directUrl: string;
  readonly gateway: GatewayProcess;
  /** The minimal recording proxy. */
  readonly floor: FloorProxy;
  /** The installed proxies of other projects. */
  readonly peers: readonly Peer[];
}

/** The request of the benchmark: 2 kB of prompt. */
export function requestsTo(urls: readonly string[], more: object = {}, key: string | null = null): Requests {
  const body = { model: 'benchmark', messages: [{ role: 'user', content: 'y'.repeat(2000) }], ...more };
  const requests = urls.map((url) => rawRequest(url, body, key));
  return { port: requests[0]?.port ?? 0, bytes: requests.map(({ bytes }) => bytes) };
}
