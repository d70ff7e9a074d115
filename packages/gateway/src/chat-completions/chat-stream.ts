import type { JsonObject } from '@agentlightning/core';
import { type CapturedResponse, isJsonObject, parseJsonObject, StreamedMessage } from '@agentlightning/core/internal';
import type { GatewayError } from '../gateway-error.ts';
import { type StreamEntry, writeEntry } from '../http/event-stream.ts';
import { failureMessage, type LastEntry, type StreamConverter } from '../model-api/stream-converter.ts';
import type { AddedFields } from './prepared-request.ts';
import { isOnlyUsage, visibleResponse } from './visible-response.ts';

/** A Chat Completions stream that reaches its client unchanged, except for the fields that only the gateway requested. */
export class ChatStream implements StreamConverter {
  readonly #captured: CapturedResponse;
  readonly #added: AddedFields;
  readonly #message: StreamedMessage = new StreamedMessage();

  /** @param captured - collects the tokens */
  constructor(captured: CapturedResponse, added: AddedFields) {
    this.#captured = captured;
    this.#added = added;
  }

  /** A response without an end marker is complete when every choice has a finish reason. */
  get isFinished(): boolean {
    return this.#captured.isFinished;
  }

  take(entry: StreamEntry): string | LastEntry {
    if (entry.kind === 'comment') return writeEntry(entry);
    if (entry.data === doneMarker) return chatEnd;
    const chunk = parseJsonObject(entry.data);
    if (chunk === null) return writeEntry(entry);
    if (isJsonObject(chunk.error)) {
      return { kind: 'failure', message: failureMessage(chunk.error), text: writeEntry(entry) };
    }
    this.#captured.add(chunk);
    const visible = visibleResponse(chunk, this.#added);
    this.#message.add(visible);
    if (isOnlyUsage(chunk, this.#added)) return '';
    return visible === chunk ? writeEntry(entry) : writeEntry({ ...entry, data: JSON.stringify(visible) });
  }

  broken(error: GatewayError): string {
    return chatErrorEvent(error);
  }

  recorded(): JsonObject {
    return this.#message.toBody();
  }
}

/** Data of the event after the last chunk. */
export const doneMarker = '[DONE]';

/** The end of a stream of Chat Completions, or of Completions. */
export const chatEnd: LastEntry = { kind: 'end', text: `data: ${doneMarker}\n\n` };

/** An error within a stream of Chat Completions, or of Completions. */
export function chatErrorEvent(error: GatewayError): string {
  return `data: ${error.toBody()}\n\n`;
}
