import type { Span } from '@agentlightning/core';
import type { CollectedGroup, CollectedRollout } from '@agentlightning/core/algorithm';
import { findReview, primaryRewardName } from '@agentlightning/core/internal';
import { rewardAttributes, rewardFromSpan, spanNames } from '@agentlightning/core/spans';

/** The reward that stands for the label `good`; `bad` is 0. */
export const goodReward = 1;

/**
 * The groups that the annotations of a group define, with labels instead of rewards: those with a label, and for pairs also
 * one group of two for each preference.
 */
export function annotatedGroups(group: CollectedGroup, format: 'chat' | 'preference'): readonly CollectedGroup[] {
  const annotated = group.rollouts.map((collected) => ({ collected, ...findReview(ownSpans(collected)) }));
  const labelled = annotated.flatMap(({ collected, label }) =>
    label === null ? [] : [withReward(collected, label === 'good' ? goodReward : 0)],
  );
  if (format === 'chat') return [{ ...group, rollouts: labelled }];
  const byId = new Map(group.rollouts.map((collected) => [collected.rollout.rolloutId, collected]));
  const pairs = annotated.flatMap(({ collected, preferredOver }) =>
    preferredOver.flatMap((rolloutId) => {
      const other = byId.get(rolloutId);
      if (other === undefined) return [];
      const groupId = `${collected.rollout.rolloutId} over ${rolloutId}`;
      return [{ ...group, groupId, rollouts: [withReward(collected, goodReward), withReward(other, 0)] }];
    }),
  );
  // A preference is more specific than the labels of the same rollouts.
  return pairs.length > 0 ? pairs : [{ ...group, rollouts: labelled }];
}

function ownSpans({ spans, attemptId }: CollectedRollout): readonly Span[] {
  return spans.filter((span) => span.attemptId === attemptId);
}

/** The rollout with one reward span instead of those of its agent. */
export function withReward(collected: CollectedRollout, value: number): CollectedRollout {
  const spans = ownSpans(collected);
  const last = spans.at(-1);
  if (last === undefined) return collected;
  const reward: Span = {
    ...last,
    spanId: 'label',
    parentId: null,
    sequenceId: Math.max(...spans.map(({ sequenceId }) => sequenceId)) + 1,
    name: spanNames.annotation,
    attributes: rewardAttributes([{ name: primaryRewardName, value }]),
  };
  return { ...collected, spans: [...spans.filter((span) => rewardFromSpan(span) === null), reward] };
}
