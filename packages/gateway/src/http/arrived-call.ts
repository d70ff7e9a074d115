import type { Caller } from './access.ts';
import type { HeaderReader } from './header-reader.ts';

/** Somebody who waits for an answer. */
export interface WaitingCaller {
  readonly hasGone: boolean;
  /** Tells once when the caller has gone before its answer was whole. */
  onGone(listener: () => void): void;
}

/** A model call as it reached the gateway, by whichever server. */
export interface ArrivedCall extends WaitingCaller {
  readonly headers: HeaderReader;
  readonly requestId: string;
  /** Who calls, by its key. */
  readonly caller: Caller;
  /** A part of the address, such as `rolloutId`. */
  readonly param: (name: string) => string | undefined;
  /** The body. @throws GatewayError 400 when its sender hung up before it was whole */
  text(): Promise<string>;
}
