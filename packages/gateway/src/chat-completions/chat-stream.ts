import type { JsonObject } from '@agentlightning/core';
import { type CapturedResponse, isJsonObject, parseJsonObject, StreamedMessage } from '@agentlightning/core/internal';
import type { GatewayError } from '../gateway-error.ts';
import { type StreamEntry, writeEntry } from '../http/server-sent-events.ts';
import { failureMessage, type LastEntry, type StreamConverter } from '../model-api/stream-converter.ts';
import type { AddedFields } from './prepared-request.ts';
import { isOnlyUsage, visibleResponse } from './visible-response.ts';

/** The chunks of an API, as far as Chat Completions and Completions differ. */
export interface ChunkFormat {
  /** The chunk with its log-probabilities where Chat Completions have them. */
  readonly toChatLogprobs: (chunk: JsonObject) => JsonObject;
  /** Assembles the body of the equivalent non-streamed response. */
  readonly body: { add(chunk: JsonObject): void; toBody(): JsonObject };
}

/**
 * A stream of Chat Completions or Completions that reaches its client unchanged, except for the fields that only the gateway
 * requested.
 */
export class ChatStream implements StreamConverter {
  readonly #captured: CapturedResponse;
  readonly #added: AddedFields;
  readonly #format: ChunkFormat;

  /**
   * @param captured - collects the tokens
   * @param format - that of Chat Completions by default
   */
  constructor(captured: CapturedResponse, added: AddedFields, format: ChunkFormat = chatFormat()) {
    this.#captured = captured;
    this.#added = added;
    this.#format = format;
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
    this.#captured.add(this.#format.toChatLogprobs(chunk));
    const visible = visibleResponse(chunk, this.#added);
    this.#format.body.add(visible);
    if (isOnlyUsage(chunk, this.#added)) return '';
    return visible === chunk ? writeEntry(entry) : writeEntry({ ...entry, data: JSON.stringify(visible) });
  }

  broken(error: GatewayError): string {
    return `data: ${error.toBody()}\n\n`;
  }

  recorded(): JsonObject {
    return this.#format.body.toBody();
  }
}

function chatFormat(): ChunkFormat {
  return { toChatLogprobs: (chunk) => chunk, body: new StreamedMessage() };
}

/** Data of the event after the last chunk. */
export const doneMarker = '[DONE]';

const chatEnd: LastEntry = { kind: 'end', text: `data: ${doneMarker}\n\n` };
