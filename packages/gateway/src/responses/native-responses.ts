import type { JsonObject } from '@agentlightning/core';
import { type CapturedResponse, parseJsonObject, StreamedResponse } from '@agentlightning/core/internal';
import { type AddedFields, prepareUntokened } from '../model-api/prepared-request.ts';
import { failureMessage, type LastEntry, type StreamConverter } from '../model-api/stream-converter.ts';
import type { UpstreamApi } from '../model-api/upstream-api.ts';
import { eventWithCalledModel, withCalledModel } from '../model-api/visible-response.ts';
import type { GatewayError } from '../wire/gateway-error.ts';
import { numberOf, objectOf, textOf } from '../wire/json-access.ts';
import { type StreamEntry, writeEntry } from '../wire/server-sent-events.ts';

/** Native Responses of an upstream: without token ids, so such calls are recorded but not trainable. */
export const nativeResponses: UpstreamApi = {
  path: '/responses',
  prepare: (request, options) => prepareUntokened(request, options, 'max_output_tokens'),
  standard: (body) => body,
  capture: (body, captured) => captured.add(chatTerms(body)),
  visible: withCalledModel,
  stream: (captured, added) => new NativeResponseStream(captured, added),
};

/** Maps id, usage and status of a Responses body to Chat Completions. */
function chatTerms({ id, model, usage, status, incomplete_details: incomplete }: JsonObject): JsonObject {
  const { input_tokens: input, input_tokens_details: details, output_tokens: output } = objectOf(usage);
  const { reason } = objectOf(incomplete);
  const reasons: Readonly<Record<string, string>> = { completed: 'stop', incomplete: textOf(reason) ?? 'length' };
  const finish = reasons[textOf(status) ?? ''] ?? null;
  return {
    id: id ?? null,
    model: model ?? null,
    usage: { prompt_tokens: input ?? null, prompt_tokens_details: details ?? null, completion_tokens: output ?? null },
    choices: [{ index: 0, finish_reason: finish }],
  };
}

/** A stream that reaches its client unchanged, except for the name of a deployment. Its last event holds the response, and is held back until it is recorded. */
class NativeResponseStream implements StreamConverter {
  readonly #captured: CapturedResponse;
  readonly #added: Pick<AddedFields, 'model'>;
  readonly #response: StreamedResponse = new StreamedResponse();
  #sequenceNumber = 0;

  constructor(captured: CapturedResponse, added: Pick<AddedFields, 'model'>) {
    this.#captured = captured;
    this.#added = added;
  }

  get isFinished(): boolean {
    return this.#response.isWhole;
  }

  take(entry: StreamEntry): string | LastEntry {
    const event = entry.kind === 'event' ? parseJsonObject(entry.data) : null;
    if (event === null || entry.kind !== 'event') return writeEntry(entry);
    const sent = eventWithCalledModel(event, 'response', this.#added);
    const text = writeEntry(sent === event ? entry : { ...entry, data: JSON.stringify(sent) });
    this.#sequenceNumber = (numberOf(event.sequence_number) ?? this.#sequenceNumber) + 1;
    this.#response.add(event);
    if (event.type === 'response.created' || event.type === 'response.failed' || this.#response.isWhole)
      this.#captured.add(chatTerms(objectOf(event.response)));
    const error = event.type === 'error' ? event : objectOf(objectOf(event.response).error);
    if (event.type === 'error' || event.type === 'response.failed') {
      const message = failureMessage(textOf(error.message) === null ? objectOf(event.error) : error);
      return { kind: 'failure', message, text };
    }
    return this.#response.isWhole ? { kind: 'end', text } : text;
  }

  broken(error: GatewayError): string {
    const event = { type: 'error', sequence_number: this.#sequenceNumber, code: 'server_error', param: null };
    return `event: error\ndata: ${JSON.stringify({ ...event, message: error.text })}\n\n`;
  }

  recorded(): JsonObject {
    return this.#response.toBody();
  }
}
