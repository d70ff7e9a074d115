/**
 * HTTP client of the store, for programs that run or read rollouts. Agents do not need it.
 *
 * @module
 */

export type { StoreClientOptions } from './options.ts';
export { StoreClient } from './store-client.ts';
