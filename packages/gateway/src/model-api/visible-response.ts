import type { JsonObject, JsonValue } from '@agentlightning/core';
import { isJsonObject, promptTokenIdFields, tokenIdFields } from '@agentlightning/core/internal';
import type { AddedFields } from './prepared-request.ts';

/** The body with the model that the client has called, where it names one: clients compare it, and versions change. */
export function withCalledModel(body: JsonObject, { model }: Pick<AddedFields, 'model'>): JsonObject {
  return model === undefined || typeof body.model !== 'string' || body.model === model ? body : { ...body, model };
}

/** {@link withCalledModel} for an event of a stream that holds a response in one of its fields. */
export function eventWithCalledModel(
  event: JsonObject,
  field: 'message' | 'response',
  added: Pick<AddedFields, 'model'>,
): JsonObject {
  const given = event[field];
  if (!isJsonObject(given)) return event;
  const called = withCalledModel(given, added);
  return called === given ? event : { ...event, [field]: called };
}

/**
 * A body, or a chunk of a stream, for the agent: without the data of tokens and the usage that only the gateway
 * requested, and with the model that it has called.
 */
export function visibleResponse(given: JsonObject, added: AddedFields): JsonObject {
  const body = withCalledModel(given, added);
  if (!added.tokenIds && !added.logprobs && !added.usage) return body;
  const visible: Record<string, JsonValue> = { ...body };
  if (added.tokenIds) for (const name of promptTokenIdFields) delete visible[name];
  if (added.usage) delete visible.usage;
  if (Array.isArray(body.choices)) {
    visible.choices = body.choices.map((choice) => (isJsonObject(choice) ? visibleChoice(choice, added) : choice));
  }
  return visible;
}

/** Whether a chunk only exists because the gateway requested the usage of the stream. */
export function isOnlyUsage(chunk: JsonObject, added: AddedFields): boolean {
  return added.usage && Array.isArray(chunk.choices) && chunk.choices.length === 0 && 'usage' in chunk;
}

function visibleChoice(choice: JsonObject, added: AddedFields): JsonObject {
  const visible: Record<string, JsonValue> = { ...choice };
  if (added.tokenIds) {
    for (const name of [...tokenIdFields, ...promptTokenIdFields]) delete visible[name];
    delete visible.policy_versions;
  }
  // OpenAI and vLLM return null for log-probabilities that were not requested.
  if (added.logprobs && 'logprobs' in choice) visible.logprobs = null;
  return visible;
}
