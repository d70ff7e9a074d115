import type { JsonObject, JsonValue } from '@agentlightning/core';
import { isJsonObject } from '@agentlightning/core/internal';
import { listOf } from '../wire/json-access.ts';
import type { WireEvent } from './wire.ts';

/**
 * Events in the format `triplet`: only the tokens of model calls, and the values of rewards. Of several calls with the
 * same prompt tokens, the last one is kept.
 */
export function toTriplets(events: readonly WireEvent[]): readonly WireEvent[] {
  return lastOfEachPrompt(
    events.map((event) => {
      if (event.event_type === 'model_request') return { ...event, data: trimmedModelRequest(event.data) };
      return event.event_type === 'reward' ? { ...event, data: trimmedReward(event.data) } : event;
    }),
  );
}

/** Removes the large routes of mixture-of-experts models. */
export function withoutRoutedExperts(events: readonly WireEvent[]): readonly WireEvent[] {
  return events.map((event) => {
    if (event.event_type !== 'model_request') return event;
    const { routed_experts: _, ...data } = event.data;
    return { ...event, data };
  });
}

function trimmedModelRequest(data: JsonObject): JsonObject {
  const response = isJsonObject(data.response) ? data.response : {};
  const [first] = listOf(response.choices);
  const choice = isJsonObject(first) ? first : {};
  const ofResponse = listOf(response.prompt_token_ids);
  const server = isJsonObject(data.server) ? data.server : {};
  const routes = data.routed_experts ?? null;
  return {
    prompt_token_ids: ofResponse.length > 0 ? ofResponse : listOf(choice.prompt_token_ids),
    response_token_ids: listOf(choice.token_ids),
    response_log_probs: logprobsOf(choice),
    server: { model: server.model ?? null, version: server.version ?? null },
    ...(routes === null ? {} : { routed_experts: routes }),
    ...('http_status' in data ? { http_status: data.http_status } : {}),
    ...('status' in data ? { status: data.status } : {}),
    ...('error' in response ? { error: response.error } : {}),
  };
}

/** Null when a number is missing: incomplete log-probabilities are not trained on. */
function logprobsOf({ logprobs }: JsonObject): readonly number[] | null {
  if (!isJsonObject(logprobs)) return null;
  const { content, token_logprobs: ofTokens } = logprobs;
  let found: readonly JsonValue[] | null = null;
  if (Array.isArray(content)) found = content.map((entry) => (isJsonObject(entry) ? (entry.logprob ?? null) : null));
  else if (Array.isArray(ofTokens)) found = ofTokens;
  return found?.every((value): value is number => typeof value === 'number' && Number.isFinite(value)) ? found : null;
}

function trimmedReward(data: JsonObject): JsonObject {
  return {
    value: data.value ?? null,
    ...('source' in data ? { source: data.source } : {}),
    ...('reason' in data ? { reason: data.reason } : {}),
  };
}

/** Calls without token ids cannot be compared and are all kept. */
function lastOfEachPrompt(events: readonly WireEvent[]): readonly WireEvent[] {
  const lastByPrompt = new Map<string, WireEvent>();
  const keys = events.map((event) => {
    const ids = event.event_type === 'model_request' ? listOf(event.data.prompt_token_ids) : [];
    const key = ids.length > 0 && ids.every(Number.isInteger) ? ids.join() : null;
    if (key !== null) lastByPrompt.set(key, event);
    return key;
  });
  return events.filter((event, index) => {
    const key = keys[index] ?? null;
    return key === null || lastByPrompt.get(key) === event;
  });
}
