import type { Clock } from '../clock.ts';

/** How to reach a store's server. */
export interface StoreClientOptions {
  /** The server's URL: `http://localhost:4747`, without a user or a password. */
  readonly baseUrl: string;
  /** The server's key, if it asks for one. @default none */
  readonly apiKey?: string;
  /** Whether `apiKey` may be sent over plain `http:` to another machine, on a network that you trust. @default false */
  readonly allowInsecureKey?: boolean;
  /** @default the platform's */
  readonly fetch?: typeof globalThis.fetch;
  /** Where time comes from. @default the clock on the wall */
  readonly clock?: Clock;
  /** How long one try of a request may take, in milliseconds. @default 30000 */
  readonly requestTimeoutMs?: number;
  /** How often a request is sent again while the server cannot be reached or fails: 6 bridges about six seconds. @default 6 */
  readonly maxRetries?: number;
}
