import type { CollectedGroup, CollectedRollout, Trajectory } from '@agentlightning/core/algorithm';
import { type ReasonCounts, sumReasonCounts } from '../base/reason-counts.ts';
import {
  type CollectedTransitions,
  type TransitionOptions,
  transitionsFromSpans,
} from '../transition/transitions-from-spans.ts';
import { type LimitedTrajectory, limitRowLength, type RowLengthLimit } from './limit-row-length.ts';
import { type BuiltTrajectory, type RowLevel, trajectoryFromTransitions } from './trajectory-from-transitions.ts';

/** Options of {@link collectTrajectories}. */
export interface CollectOptions extends TransitionOptions {
  /** Whether calls that continue each other are one row. @default 'trajectory' */
  readonly level?: RowLevel;
  /** Maximum row length. @default no limit */
  readonly rowLength?: RowLengthLimit;
}

/** The trajectories of a step, and counts of excluded data. */
export interface CollectedTrajectories {
  /** Trajectories of all successful rollouts, including those without a reward, and of failed ones with a `failedReward`; in input order. */
  readonly trajectories: readonly Trajectory[];
  /** Number of rollouts that did not succeed. */
  readonly failedRollouts: number;
  /** Number of captured model calls. */
  readonly modelCalls: number;
  /** Number of completions that cannot be trained on, by reason. */
  readonly untrainableCalls: ReasonCounts;
  /** Number of rewards without a trained call. */
  readonly unassignedRewards: number;
  /** Number of rows after the first of a rollout, by split reason. */
  readonly rowSplits: ReasonCounts;
  /** Number of dropped rows. */
  readonly droppedRows: number;
  /** Number of truncated rows. */
  readonly truncatedRows: number;
}

/** Builds a trajectory of every successful rollout, and of every failed one with a `failedReward`: spans, transitions, rows. */
export function collectTrajectories(
  groups: readonly CollectedGroup[],
  options: CollectOptions = {},
): CollectedTrajectories {
  const members = groups.flatMap(({ groupId, rollouts }) => rollouts.map((collected) => ({ groupId, collected })));
  const isUsed = ({ rollout, failedReward }: CollectedRollout): boolean =>
    rollout.status === 'succeeded' || failedReward !== undefined;
  const parts = members
    .filter(({ collected }) => isUsed(collected))
    .map(({ groupId, collected }) => collect(collected, groupId, options));
  const total = (count: (part: CollectedPart) => number): number => parts.reduce((sum, part) => sum + count(part), 0);
  return {
    trajectories: parts.map(({ trajectory }) => trajectory),
    failedRollouts: members.filter(({ collected }) => collected.rollout.status !== 'succeeded').length,
    modelCalls: total((part) => part.modelCalls),
    untrainableCalls: sumReasonCounts(parts.map((part) => part.excluded)),
    unassignedRewards: total((part) => part.unassignedRewards),
    rowSplits: sumReasonCounts(parts.map((part) => part.splits)),
    droppedRows: total((part) => part.dropped),
    truncatedRows: total((part) => part.truncated),
  };
}

type CollectedPart = LimitedTrajectory &
  Pick<BuiltTrajectory, 'splits'> &
  Pick<CollectedTransitions, 'modelCalls' | 'excluded' | 'unassignedRewards'>;

function collect(collected: CollectedRollout, groupId: string, options: CollectOptions): CollectedPart {
  const { rollout, attemptId, spans, failedReward } = collected;
  const ownSpans = spans.filter((span) => span.attemptId === attemptId);
  const { transitions, finalReward, rewardedCall, agentRewards, ...counts } = transitionsFromSpans(ownSpans, options);
  const { trajectory, splits } = trajectoryFromTransitions({
    rolloutId: rollout.rolloutId,
    attemptId: attemptId ?? '',
    groupId,
    reward: failedReward ?? finalReward,
    rewardedCall: failedReward === undefined ? rewardedCall : null,
    agentRewards,
    transitions,
    ...(options.level === undefined ? {} : { level: options.level }),
  });
  const limited = limitRowLength(trajectory, options.rowLength ?? { maxTokens: Infinity, tooLong: 'drop' });
  if (failedReward === undefined) return { ...counts, splits, ...limited };
  return { ...counts, splits, ...limited, trajectory: { ...limited.trajectory, isFailed: true } };
}
