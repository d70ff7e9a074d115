import type { JsonObject, JsonValue } from '@agentlightning/core';
import { isJsonObject } from '@agentlightning/core/internal';
import type { AddedFields } from './prepared-request.ts';

/**
 * A body, or a chunk of a stream, as the agent would have got it without the gateway: without the token ids,
 * log-probabilities and usage that only the gateway asked for.
 */
export function visibleAnswer(body: JsonObject, added: AddedFields): JsonObject {
  if (!added.tokenIds && !added.logprobs && !added.usage) return body;
  const visible: Record<string, JsonValue> = { ...body };
  if (added.tokenIds) delete visible.prompt_token_ids;
  if (added.usage) delete visible.usage;
  if (Array.isArray(body.choices)) {
    visible.choices = body.choices.map((choice) => (isJsonObject(choice) ? visibleChoice(choice, added) : choice));
  }
  return visible;
}

/** Whether a chunk came only because the gateway asked for the usage at the end of the stream. */
export function isOnlyUsage(chunk: JsonObject, added: AddedFields): boolean {
  return added.usage && Array.isArray(chunk.choices) && chunk.choices.length === 0 && 'usage' in chunk;
}

function visibleChoice(choice: JsonObject, added: AddedFields): JsonObject {
  const visible: Record<string, JsonValue> = { ...choice };
  if (added.tokenIds) {
    delete visible.token_ids;
    delete visible.prompt_token_ids;
  }
  // Null is what OpenAI and vLLM write for log-probabilities that nobody asked for.
  if (added.logprobs && 'logprobs' in choice) visible.logprobs = null;
  return visible;
}
