import type { JsonObject } from '@agentlightning/core';
import type { GatewayError } from '../gateway-error.ts';
import type { StreamEntry } from '../http/event-stream.ts';
import { textOf } from '../http/json-access.ts';

/** The stream of one answer, on its way from the upstream's API to the client's. */
export interface AnswerStream {
  /** What the client gets for an entry of the upstream's stream. */
  take(entry: StreamEntry): string | LastEntry;
  /** Whether all of the answer has come, also where its end mark has not. */
  readonly isFinished: boolean;
  /** What the client is told when all of the answer has come, before what the end mark held back. Called once. */
  ending?(): string;
  /** What the client gets when the answer breaks off here. */
  broken(error: GatewayError): string;
  /** The answer so far as one body, for the record. */
  recorded(): JsonObject;
}

/** An entry after which nothing of the answer follows. */
export type LastEntry =
  | {
      readonly kind: 'end';
      /** What the client gets for it, held back until the call is recorded. */
      readonly text: string;
    }
  | {
      /** The upstream said itself that something went wrong. */
      readonly kind: 'failure';
      readonly words: string;
      /** What the client gets for it. */
      readonly text: string;
    };

/** What an upstream says went wrong. Its words are the best there are. */
export function failureWords({ message }: JsonObject): string {
  return textOf(message) ?? 'the upstream ended with an error';
}
