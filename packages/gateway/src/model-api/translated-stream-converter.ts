import type { JsonObject } from '@agentlightning/core';
import {
  type CapturedResponse,
  parseJsonObject,
  ResponseStandardizer,
  StreamedMessage,
} from '@agentlightning/core/internal';
import { type GatewayError, notUnderstood } from '../wire/gateway-error.ts';
import { type StreamEntry, writeEntry } from '../wire/server-sent-events.ts';
import { chunkOfWhole, doneMarker } from './chat-stream.ts';
import type { AddedFields } from './prepared-request.ts';
import type { LastEntry, StreamConverter } from './stream-converter.ts';
import type { TranslatedStream } from './translation.ts';
import { visibleResponse, withCalledModel } from './visible-response.ts';

const allTokens = { tokenIds: true, logprobs: true, usage: false };

/** A Chat Completions stream that is translated to the client's API, and recorded before translation. */
export class TranslatedStreamConverter implements StreamConverter {
  readonly #captured: CapturedResponse;
  readonly #translated: TranslatedStream;
  readonly #added: Pick<AddedFields, 'model'>;
  readonly #message: StreamedMessage = new StreamedMessage();
  readonly #standard: ResponseStandardizer = new ResponseStandardizer(true);

  /** @param captured - collects the tokens */
  constructor(captured: CapturedResponse, translated: TranslatedStream, added: Pick<AddedFields, 'model'>) {
    this.#captured = captured;
    this.#added = added;
    this.#translated = translated;
  }

  get isFinished(): boolean {
    return this.#captured.isFinished;
  }

  take(entry: StreamEntry): string | LastEntry {
    // A comment is a keep-alive, useful to the client as well.
    if (entry.kind === 'comment') return writeEntry(entry);
    if (entry.data === doneMarker) {
      const problem = this.#standard.problemAtEnd();
      return problem === null ? { kind: 'end', text: '' } : this.#failed(problem);
    }
    if (entry.data.trim() === '') return '';
    const chunk = parseJsonObject(entry.data);
    // A response with a missing chunk must not look complete.
    if (chunk === null) return this.#failed('the upstream sent a chunk that is not a JSON object');
    const standard = this.#standard.add(chunk);
    if (this.#standard.problem !== null) return this.#failed(this.#standard.problem);
    this.#captured.add(standard);
    this.#message.add(visibleResponse(standard, allTokens));
    return written(this.#translated.take(withCalledModel(standard, this.#added)));
  }

  ending(): string {
    return written(this.#translated.ending());
  }

  broken(error: GatewayError): string {
    return written(this.#translated.broken(error));
  }

  recorded(): JsonObject {
    return this.#message.toBody();
  }

  #failed(message: string): LastEntry {
    return { kind: 'failure', message, text: this.broken(notUnderstood(message)) };
  }
}

/** Converts a whole response to a stream, for an upstream that does not stream. */
export function streamOfWhole(translated: TranslatedStream, body: JsonObject): string {
  return written([...translated.take(chunkOfWhole(body)), ...translated.ending()]);
}

/** Serializes events with their type in the `event` field, as OpenAI and Anthropic do. */
function written(events: readonly JsonObject[]): string {
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
}
