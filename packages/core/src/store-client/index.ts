/**
 * HTTP client of the store and tokens for agents, for programs that run or read rollouts. Agents do not need it.
 *
 * @module
 */

export type { AttemptClaims, AttemptTokenRequest, AttemptTokensOptions } from '../protocol/access/attempt-token.ts';
export { AttemptTokens } from '../protocol/access/attempt-token.ts';
export { readEvents } from './events.ts';
export type { StoreClientOptions } from './store-client.ts';
export { StoreClient } from './store-client.ts';
export { StoreTransport } from './transport.ts';
