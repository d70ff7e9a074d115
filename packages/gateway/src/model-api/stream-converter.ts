import type { JsonObject } from '@agentlightning/core';
import type { GatewayError } from '../wire/gateway-error.ts';
import { textOf } from '../wire/json-access.ts';
import type { StreamEntry } from '../wire/server-sent-events.ts';

/** A streamed response, converted from the upstream's API to the client's. */
export interface StreamConverter {
  /** Converts an entry of the upstream's stream. */
  take(entry: StreamEntry): string | LastEntry;
  /** Whether the response is complete, even if its end marker is missing. */
  readonly isFinished: boolean;
  /** The client's last events before the held-back end marker. Called once. */
  ending?(): string;
  /** The client's events for a response that breaks off here. */
  broken(error: GatewayError): string;
  /** The response so far as one body, for the record. */
  recorded(): JsonObject;
}

/** The last entry of a response. */
export type LastEntry =
  | {
      readonly kind: 'end';
      /** The client's text, held back until the call is recorded. */
      readonly text: string;
    }
  | {
      /** The upstream reported an error. */
      readonly kind: 'failure';
      readonly message: string;
      /** The client's text. */
      readonly text: string;
    };

/** The upstream's error message. */
export function failureMessage({ message }: JsonObject): string {
  return textOf(message) ?? 'the upstream ended with an error';
}
