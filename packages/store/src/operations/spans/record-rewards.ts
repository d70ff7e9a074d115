import type { Span } from '@agentlightning/core';
import { annotationFromSpan, rewardFromSpan } from '@agentlightning/core/spans';
import type { OperationContext } from '../../sql/operation.ts';

/** A span that may record a reward. */
type RewardedSpan = Pick<Span, 'rolloutId' | 'attemptId' | 'spanId' | 'sequenceId' | 'name' | 'attributes'>;

/**
 * Records the rewards of new spans with their attempts, and the labels of people with the rollouts. The reward of an attempt is the one with the last sequence id; that of a
 * rollout is the reward of its latest attempt.
 */
export async function recordRewards({ db }: OperationContext, spans: Iterable<RewardedSpan>): Promise<void> {
  for (const span of spans) {
    const label = annotationFromSpan(span)?.label;
    if (label !== undefined) {
      await db.run('UPDATE rollouts SET label = ? WHERE rollout_id = ? AND latest_attempt_id = ?', [
        label,
        span.rolloutId,
        span.attemptId,
      ]);
    }
    const value = rewardFromSpan(span)?.rewards[0]?.value;
    if (value === undefined) continue;
    const changed = await db.run(
      `UPDATE attempts SET reward = ?, reward_sequence_id = ?
       WHERE rollout_id = ? AND attempt_id = ? AND coalesce(reward_sequence_id, -1) <= ?`,
      [value, span.sequenceId, span.rolloutId, span.attemptId, span.sequenceId],
    );
    if (changed === 0) continue;
    await db.run('UPDATE rollouts SET reward = ? WHERE rollout_id = ? AND latest_attempt_id = ?', [
      value,
      span.rolloutId,
      span.attemptId,
    ]);
  }
}
