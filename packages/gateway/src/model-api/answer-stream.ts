import type { JsonObject } from '@agentlightning/core';
import type { GatewayError } from '../gateway-error.ts';
import type { StreamEntry } from '../http/event-stream.ts';

/** The stream of one answer, on its way from the upstream's API to the client's. */
export interface AnswerStream {
  /** What the client gets for an entry of the upstream's stream; an entry that ends the answer is held back. */
  take(entry: StreamEntry): string;
  /** Whether an entry has ended the answer: nothing of it follows. */
  readonly isAtEnd: boolean;
  /** Whether all of the answer has come, also where its end mark has not. */
  readonly isFinished: boolean;
  /** What the stream itself said went wrong, and the client has been told; null when it said nothing. */
  readonly failure: string | null;
  /** The last bytes: they leave when the call is recorded. Called once, when `isAtEnd` or `isFinished`. */
  ending(): string;
  /** What the client gets when the answer breaks off here. */
  broken(error: GatewayError): string;
  /** The answer so far as one body, for the record. */
  recorded(): JsonObject;
}
