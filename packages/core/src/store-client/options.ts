import type { Clock } from '../base/clock.ts';

/** Connection options of a store client. */
export interface StoreClientOptions {
  /** The server's URL: `http://localhost:4747`, without a user or a password. */
  readonly baseUrl: string;
  /** The server's key, if it requires one. @default none */
  readonly apiKey?: string;
  /** Whether `apiKey` may be sent over plain `http:` to another machine, on a trusted network. @default false */
  readonly allowInsecureKey?: boolean;
  /** @default the platform's */
  readonly fetch?: typeof globalThis.fetch;
  /** Source of time. @default the system clock */
  readonly clock?: Clock;
  /** Timeout of one request attempt, in milliseconds. @default 30000 */
  readonly requestTimeoutMs?: number;
  /** Maximum number of retries while the server is unreachable or fails: 6 cover about six seconds. @default 6 */
  readonly maxRetries?: number;
  /**
   * Retry limit for requests while the server is unreachable or fails, in milliseconds, instead of a number of retries.
   * @default limited by `maxRetries`
   */
  readonly unreachableAfterMs?: number;
}
