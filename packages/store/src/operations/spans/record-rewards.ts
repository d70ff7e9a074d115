import type { Span } from '@agentlightning/core';
import { rewardFromSpan } from '@agentlightning/core/spans';
import type { OperationContext } from '../../operation.ts';

/** A span that may record a reward. */
type RewardedSpan = Pick<Span, 'rolloutId' | 'attemptId' | 'spanId' | 'sequenceId' | 'name' | 'attributes'>;

/** Records the rewards of new spans with their attempts. The reward of an attempt is the one with the last sequence id. */
export async function recordRewards({ db }: OperationContext, spans: Iterable<RewardedSpan>): Promise<void> {
  for (const span of spans) {
    const value = rewardFromSpan(span)?.rewards[0]?.value;
    if (value === undefined) continue;
    await db.run(
      `UPDATE attempts SET reward = ?, reward_sequence_id = ?
       WHERE rollout_id = ? AND attempt_id = ? AND coalesce(reward_sequence_id, -1) <= ?`,
      [value, span.sequenceId, span.rolloutId, span.attemptId, span.sequenceId],
    );
  }
}
