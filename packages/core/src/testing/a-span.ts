import { newSpanId } from '../base/id.ts';
import { rewardAttributes } from '../spans/reward-spans.ts';
import type { Span } from '../spans/span.ts';
import { spanNames } from '../spans/span-attributes.ts';
import { type RewardValue, toRewards } from '../tracing/emit-reward.ts';

/** A span of rollout `ro-1`, attempt `at-1`; pass only the fields relevant to the test. */
export function aSpan(fields: Partial<Span> = {}): Span {
  return {
    rolloutId: 'ro-1',
    attemptId: 'at-1',
    sequenceId: 1,
    traceId: '0123456789abcdef0123456789abcdef',
    spanId: newSpanId(),
    parentId: null,
    name: 'step',
    status: { code: 'OK', message: null },
    attributes: {},
    events: [],
    links: [],
    startTimeMs: 1_700_000_000_000,
    endTimeMs: 1_700_000_000_010,
    resource: { attributes: {}, schemaUrl: '' },
    ...fields,
  };
}

/** A span as `emitReward` records it. */
export function aRewardSpan(value: RewardValue, fields: Partial<Span> = {}): Span {
  return aSpan({ name: spanNames.annotation, attributes: rewardAttributes(toRewards(value)), ...fields });
}
