import type { Span, SpanInput } from '@agentlightning/core';
import type { CollectedRollout } from '@agentlightning/core/algorithm';
import { linkAttributes, rewardAttributes, spanNames } from '@agentlightning/core/spans';
import { type CallChoice, CallChooser } from '../transition/call-choice.ts';
import { capturedCalls } from '../transition/captured-calls.ts';
import { Turns } from '../transition/turns.ts';
import { intermediateRewards } from './intermediate-rewards.ts';
import type { RewardRule } from './reward-rule.ts';

/** Rules, and whose calls they are applied to: where several policies learn, each has its own. */
export interface AnnotationOptions extends CallChoice {
  /** @default none */
  readonly intermediateRewards?: readonly RewardRule[];
}

/**
 * The rewards that rules gave to calls that are trained on, as spans for the rollout's trace: each linked to the step it
 * judges, beside which it is drawn. They are for people; training applies the rules itself. The same rollout gives spans with
 * the same ids, and so do several policies that say the same of a step.
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
    // With the value: rules of two policies may have one name and judge differently.
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

/** An id that follows from the judged span and the verdict, so that writing it again adds nothing, also with rules of several algorithms. */
function idOf(spanId: string, verdict: string): string {
  let mixed = BigInt(`0x${spanId}`);
  // FNV-1a over the characters, beginning from the judged span's id.
  for (const character of verdict) {
    mixed = BigInt.asUintN(64, (mixed ^ BigInt(character.codePointAt(0) ?? 0)) * 0x100_0000_01b3n);
  }
  return mixed.toString(16).padStart(16, '0');
}
