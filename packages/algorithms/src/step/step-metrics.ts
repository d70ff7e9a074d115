import type { StepContext } from '@agentlightning/core/algorithm';
import { runMetrics } from '@agentlightning/core/metrics';
import { mean, standardDeviation } from '../advantage/sample-statistics.ts';
import type { ScoredTrajectories, ScoredTrajectory } from '../advantage/score-trajectories.ts';
import { reasonCountMetrics, totalCount } from '../base/reason-counts.ts';
import { trainedTokensOfTrajectory } from '../training-batch/training-batches.ts';
import type { CollectedTrajectories } from '../trajectory/collect-trajectories.ts';

/** Metrics of a step's rollouts, by name. Means without values are omitted. */
export function stepMetrics(
  collected: CollectedTrajectories,
  { scored, ...comparisons }: ScoredTrajectories,
  context: StepContext,
): Readonly<Record<string, number>> {
  const { trajectories, untrainableCalls, rowSplits } = collected;
  const rewards = trajectories.flatMap(({ reward }) => (reward === null ? [] : [reward]));
  const trainedTokens = scored.map(trainedTokensOfTrajectory);
  const advantages = scored.flatMap((each) => each.advantages.flat()).filter((value) => value !== null);
  return {
    ...(rewards.length > 0
      ? { [runMetrics.rewardMean.name]: mean(rewards), [runMetrics.rewardStd.name]: standardDeviation(rewards) }
      : {}),
    [runMetrics.rolloutsUsed.name]: trainedTokens.filter((tokens) => tokens > 0).length,
    [runMetrics.rolloutsFailed.name]: collected.failedRollouts,
    [runMetrics.rolloutsWithoutReward.name]: comparisons.withoutReturn,
    [runMetrics.rolloutsUntrainable.name]: trainedTokens.filter((tokens) => tokens === 0).length,
    [runMetrics.groupsConstant.name]: comparisons.constantGroups,
    [runMetrics.groupsSingleton.name]: comparisons.singletonGroups,
    [runMetrics.callsTotal.name]: collected.modelCalls,
    [runMetrics.callsUntrainable.name]: totalCount(untrainableCalls),
    ...reasonCountMetrics(runMetrics.callsUntrainableBy, untrainableCalls),
    [runMetrics.rewardsUnassigned.name]: collected.unassignedRewards,
    [runMetrics.rowsTotal.name]: trajectories.reduce((sum, { rows }) => sum + rows.length, 0),
    [runMetrics.rowsSplit.name]: totalCount(rowSplits),
    ...reasonCountMetrics(runMetrics.rowsSplitBy, rowSplits),
    [runMetrics.rowsDropped.name]: collected.droppedRows,
    [runMetrics.rowsTruncated.name]: collected.truncatedRows,
    [runMetrics.tokensTrained.name]: trainedTokens.reduce((sum, tokens) => sum + tokens, 0),
    ...(advantages.length > 0
      ? {
          [runMetrics.advantageStd.name]: standardDeviation(advantages),
          [runMetrics.advantageZeroShare.name]: advantages.filter((value) => value === 0).length / advantages.length,
        }
      : {}),
    ...stalenessMetrics(scored, context.policyVersion),
  };
}

/** Policy versions between sampling and training: mean per trained token, and maximum. */
function stalenessMetrics(
  scored: readonly ScoredTrajectory[],
  policyVersion: number,
): Readonly<Record<string, number>> {
  const turns = scored.flatMap(({ trajectory, advantages }) =>
    trajectory.rows.flatMap((row, index) =>
      row.trained.filter((_, turn) => (advantages[index]?.[turn] ?? null) !== null),
    ),
  );
  const known = turns.flatMap(({ policyVersion: sampledBy, policyVersions, start, end }) => {
    if (sampledBy === null) return [];
    const tokens = end - start;
    const meanVersion = policyVersions === undefined ? sampledBy : mean(policyVersions);
    return [{ oldest: policyVersion - sampledBy, mean: policyVersion - meanVersion, tokens }];
  });
  if (known.length === 0) return {};
  const tokens = known.reduce((sum, turn) => sum + turn.tokens, 0);
  return {
    [runMetrics.stalenessMean.name]: known.reduce((sum, turn) => sum + turn.mean * turn.tokens, 0) / tokens,
    [runMetrics.stalenessMax.name]: known.reduce((max, { oldest }) => Math.max(max, oldest), -Infinity),
  };
}
