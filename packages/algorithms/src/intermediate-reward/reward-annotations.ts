import {
  type CollectedRollout,
  linkAttributes,
  rewardAttributes,
  type Span,
  type SpanInput,
  spanNames,
} from '@agentlightning/core';
import { capturedCalls } from '../transition/captured-calls.ts';
import { Turns } from '../transition/turns.ts';
import { intermediateRewards } from './intermediate-rewards.ts';
import type { RewardRule } from './reward-rule.ts';

/**
 * The rewards that rules gave, as spans for the rollout's trace: each linked to the step it judges, beside which it is
 * drawn. They are for people; training applies the rules itself. The same rollout gives spans with the same ids.
 */
export function rewardAnnotations(
  { spans, attemptId, rollout }: CollectedRollout,
  rules: readonly RewardRule[],
): readonly SpanInput[] {
  if (attemptId === null || rules.length === 0) return [];
  const own = spans.filter((span) => span.attemptId === attemptId);
  const { calls } = capturedCalls(own);
  const rewards = intermediateRewards(own, { calls, turns: new Turns(own, calls) }, rules);
  const bySpanId = new Map(own.map((span) => [span.spanId, span]));
  const seen = new Map<string, number>();
  return rewards.flatMap(({ rule, spanId, value }): readonly SpanInput[] => {
    const judged = bySpanId.get(spanId);
    if (judged === undefined) return [];
    const key = `${rule}/${spanId}`;
    const earlier = seen.get(key) ?? 0;
    seen.set(key, earlier + 1);
    const attributes = { ...rewardAttributes([{ name: rule, value }]), ...linkAttributes({ span_id: spanId }) };
    return [
      {
        ...momentOf(judged),
        rolloutId: rollout.rolloutId,
        attemptId,
        spanId: idOf(spanId, `${rule}/${earlier}`),
        attributes,
      },
    ];
  });
}

/** A moment at the end of the step that was judged, within what that step is part of. */
function momentOf({
  traceId,
  parentId,
  endTimeMs,
}: Span): Omit<SpanInput, 'rolloutId' | 'attemptId' | 'spanId' | 'attributes'> {
  return {
    traceId,
    parentId,
    name: spanNames.intermediateReward,
    status: { code: 'UNSET', message: null },
    events: [],
    links: [],
    startTimeMs: endTimeMs,
    endTimeMs,
    resource: { attributes: {}, schemaUrl: '' },
  };
}

/** An id that follows from the judged span and the rule, so that writing it again adds nothing, whoever else has rules. */
function idOf(spanId: string, verdict: string): string {
  let mixed = BigInt(`0x${spanId}`);
  // FNV-1a over the characters, beginning from the judged span's id.
  for (const character of verdict) {
    mixed = BigInt.asUintN(64, (mixed ^ BigInt(character.codePointAt(0) ?? 0)) * 0x100_0000_01b3n);
  }
  return mixed.toString(16).padStart(16, '0');
}
