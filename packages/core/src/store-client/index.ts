/**
 * A store that is somewhere else, over HTTP: for those who run rollouts or read them, not for agents.
 *
 * @module
 */

export type { StoreClientOptions } from './options.ts';
export { StoreClient } from './store-client.ts';
