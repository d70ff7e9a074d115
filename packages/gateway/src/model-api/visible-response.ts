import type { JsonObject, JsonValue } from '@agentlightning/core';
import { isJsonObject, promptTokenIdFields, tokenIdFields } from '@agentlightning/core/internal';
import type { AddedFields } from './prepared-request.ts';

/**
 * A body, or a chunk of a stream, for the agent: without the data of tokens and the usage that only the gateway
 * requested.
 */
export function visibleResponse(body: JsonObject, added: AddedFields): JsonObject {
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
