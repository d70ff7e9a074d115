import type { JsonObject, Span, SpanInput } from '@agentlightning/core';
import { parseJsonObject, toRewards } from '@agentlightning/core/internal';
import { agentLightningAttributes, rewardAttributes, rewardFromSpan, spanNames } from '@agentlightning/core/spans';
import { newSpanId, newTraceId } from '@agentlightning/core/store';
import { modelRequestFromSpan, type ServedVersion } from './model-request-event.ts';
import type { WireEvent } from './wire.ts';

/** Name of a span that records an event other than a reward. */
const eventSpanName = 'agentlightning.event';

/** An event to store. */
export interface NewEvent {
  readonly rolloutId: string;
  /** The id in the store. */
  readonly attemptId: string;
  readonly type: string;
  readonly data: JsonObject;
  /** Unix milliseconds. */
  readonly timeMs: number;
}

/**
 * Converts an event to a span. A reward event is also a reward span.
 *
 * @throws AgentLightningError INVALID_REWARD when a reward is not finite, or too large
 */
export function eventToSpan({ rolloutId, attemptId, type, data, timeMs }: NewEvent): SpanInput {
  const { value } = data;
  const isReward = type === 'reward' && typeof value === 'number';
  return {
    rolloutId,
    attemptId,
    traceId: newTraceId(),
    spanId: newSpanId(),
    parentId: null,
    name: isReward ? spanNames.annotation : eventSpanName,
    status: { code: 'OK', message: null },
    attributes: {
      ...(isReward ? rewardAttributes(toRewards(value)) : {}),
      [agentLightningAttributes.eventType]: type,
      [agentLightningAttributes.eventData]: JSON.stringify(data),
    },
    events: [],
    links: [],
    startTimeMs: timeMs,
    endTimeMs: timeMs,
    resource: { attributes: { 'service.name': 'agentlightning-gateway' }, schemaUrl: '' },
  };
}

/** Converts a span to an event: a model call, a reward, or a posted event. Null for any other span. */
export function eventFromSpan(span: Span, attemptName: string, served: ServedVersion): WireEvent | null {
  const { rolloutId, attributes } = span;
  const event = (type: string, data: JsonObject): WireEvent => ({
    event_type: type,
    rollout_id: rolloutId,
    attempt_id: attemptName,
    timestamp: (span.endTimeMs ?? span.startTimeMs ?? 0) / 1000,
    data,
  });
  const type = attributes[agentLightningAttributes.eventType];
  const data = attributes[agentLightningAttributes.eventData];
  if (typeof type === 'string' && typeof data === 'string') return event(type, parseJsonObject(data) ?? {});
  const request = modelRequestFromSpan(span, served);
  if (request !== null) return event('model_request', request);
  const reward = rewardFromSpan(span)?.rewards[0];
  return reward === undefined ? null : event('reward', { value: reward.value, source: 'agent' });
}
