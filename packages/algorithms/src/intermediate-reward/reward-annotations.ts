import type { Span, SpanInput } from '@agentlightning/core';
import type { CollectedRollout } from '@agentlightning/core/algorithm';
import { linkAttributes, rewardAttributes, spanNames } from '@agentlightning/core/spans';
import { type CallChoice, CallChooser } from '../transition/call-choice.ts';
import { capturedCalls } from '../transition/captured-calls.ts';
import { intermediateRewards } from '../transition/intermediate-rewards.ts';
import type { RewardRule } from '../transition/reward-rule.ts';
import { Turns } from '../transition/turns.ts';

/** Rules and the model calls to which they apply; in a run of several policies, each policy has its own. */
export interface AnnotationOptions extends CallChoice {
  /** @default none */
  readonly intermediateRewards?: readonly RewardRule[];
}

/**
 * The rewards that rules gave to trained calls, as spans for the rollout's trace, each linked to the rewarded step. They are
 * for display only: training applies the rules again. Span ids are deterministic, also across policies that give the same
 * reward to a step.
 */
export function rewardAnnotations(
  { spans, attemptId, rollout }: CollectedRollout,
  options: AnnotationOptions,
): readonly SpanInput[] {
  const { intermediateRewards: rules = [] } = options;
  if (attemptId === null || rules.length === 0) return [];
  const own = spans.filter((span) => span.attemptId === attemptId);
  const captured = capturedCalls(own);
  const { calls } = captured;
  const rewards = intermediateRewards(own, { calls, turns: new Turns(captured) }, rules);
  const chooser = new CallChooser(captured, options);
  const notChosen = calls.filter((call) => chooser.reasonAgainst(call) !== null);
  const ofOthers = new Set(notChosen.map(({ sequenceId }) => sequenceId));
  const bySpanId = new Map(own.map((span) => [span.spanId, span]));
  const seen = new Map<string, number>();
  return rewards.flatMap(({ rule, spanId, sequenceId, value }): readonly SpanInput[] => {
    const judged = bySpanId.get(spanId);
    if (judged === undefined || (sequenceId !== null && ofOthers.has(sequenceId))) return [];
    // Includes the value: rules of two policies may have the same name and give different rewards.
    const key = `${rule}/${value}/${spanId}`;
    const earlier = seen.get(key) ?? 0;
    seen.set(key, earlier + 1);
    const attributes = { ...rewardAttributes([{ name: rule, value }]), ...linkAttributes({ span_id: spanId }) };
    return [
      {
        ...momentOf(judged),
        rolloutId: rollout.rolloutId,
        attemptId,
        spanId: idOf(spanId, `${rule}/${value}/${earlier}`),
        attributes,
      },
    ];
  });
}

/** The end of the rewarded step, limited to the duration of its parent. */
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

/**
 * A deterministic id of the rewarded span and the verdict, so that repeated writes are idempotent, also with rules of
 * several algorithms.
 */
function idOf(spanId: string, verdict: string): string {
  let mixed = BigInt(`0x${spanId}`);
  // FNV-1a over the characters, seeded with the id of the rewarded span.
  for (const character of verdict) {
    mixed = BigInt.asUintN(64, (mixed ^ BigInt(character.codePointAt(0) ?? 0)) * 0x100_0000_01b3n);
  }
  return mixed.toString(16).padStart(16, '0');
}
