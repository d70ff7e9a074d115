import type { JsonObject } from '@agentlightning/core';
import { type CapturedResponse, parseJsonObject, StreamedAnthropicMessage } from '@agentlightning/core/internal';
import { type AddedFields, prepareUntokened } from '../model-api/prepared-request.ts';
import { failureMessage, type LastEntry, type StreamConverter } from '../model-api/stream-converter.ts';
import type { UpstreamApi } from '../model-api/upstream-api.ts';
import { eventWithCalledModel, withCalledModel } from '../model-api/visible-response.ts';
import type { GatewayError } from '../wire/gateway-error.ts';
import { numberOf, objectOf } from '../wire/json-access.ts';
import { type StreamEntry, writeEntry } from '../wire/server-sent-events.ts';
import { messageErrorEvent } from './message-error.ts';

/** Native Messages of an upstream: without token ids, so such calls are recorded but not trainable. */
export const nativeMessages: UpstreamApi = {
  path: '/messages',
  prepare: (request, options) => prepareUntokened(request, options, 'max_tokens'),
  standard: (body) => body,
  capture: (body, captured) => captured.add(chatTerms(body)),
  visible: withCalledModel,
  stream: (captured, added) => new NativeMessageStream(captured, added),
};

/** Maps id, usage and stop reason of a message to Chat Completions. */
function chatTerms({ id, model, usage, stop_reason: stopReason }: JsonObject): JsonObject {
  const counts = objectOf(usage);
  const { input_tokens: input, cache_creation_input_tokens: created, cache_read_input_tokens: read } = counts;
  const prompt = (numberOf(input) ?? 0) + (numberOf(created) ?? 0) + (numberOf(read) ?? 0);
  return {
    id: id ?? null,
    model: model ?? null,
    usage: {
      prompt_tokens: prompt,
      prompt_tokens_details: { cached_tokens: read ?? null },
      completion_tokens: counts.output_tokens ?? null,
    },
    choices: [{ index: 0, finish_reason: stopReason ?? null }],
  };
}

/** A stream that reaches its client unchanged, except for the name of a deployment. Its last event is held back until the call is recorded. */
class NativeMessageStream implements StreamConverter {
  readonly #captured: CapturedResponse;
  readonly #added: Pick<AddedFields, 'model'>;
  readonly #message: StreamedAnthropicMessage = new StreamedAnthropicMessage();

  constructor(captured: CapturedResponse, added: Pick<AddedFields, 'model'>) {
    this.#captured = captured;
    this.#added = added;
  }

  get isFinished(): boolean {
    return this.#captured.isFinished;
  }

  take(entry: StreamEntry): string | LastEntry {
    const event = entry.kind === 'event' ? parseJsonObject(entry.data) : null;
    if (event === null || entry.kind !== 'event') return writeEntry(entry);
    const sent = eventWithCalledModel(event, 'message', this.#added);
    const text = writeEntry(sent === event ? entry : { ...entry, data: JSON.stringify(sent) });
    this.#message.add(event);
    if (event.type === 'message_start' || event.type === 'message_delta') {
      this.#captured.add(chatTerms(this.#message.toBody()));
    }
    if (event.type === 'error') return { kind: 'failure', message: failureMessage(objectOf(event.error)), text };
    return event.type === 'message_stop' ? { kind: 'end', text } : text;
  }

  broken(error: GatewayError): string {
    return messageErrorEvent(error);
  }

  recorded(): JsonObject {
    return this.#message.toBody();
  }
}
