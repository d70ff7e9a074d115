/**
 * HTTP client of the store, for programs that run or read rollouts. Agents do not need it.
 *
 * @module
 */

export { readEvents } from './events.ts';
export type { StoreClientOptions } from './options.ts';
export { StoreClient } from './store-client.ts';
export type { RouteCall, StoreTransportOptions } from './transport.ts';
export { StoreTransport } from './transport.ts';
