import type { CollectedGroup, CollectedRollout, Trajectory } from '@agentlightning/core/algorithm';
import { sumTallies, type Tally } from '../tally.ts';
import {
  type CollectedTransitions,
  type TransitionOptions,
  transitionsFromSpans,
} from '../transition/transitions-from-spans.ts';
import { type LimitedTrajectory, limitRowLength, type RowLengthLimit } from './limit-row-length.ts';
import { type BuiltTrajectory, type RowLevel, trajectoryFromTransitions } from './trajectory-from-transitions.ts';

/** What of the rollouts is trained on. */
export interface CollectOptions extends TransitionOptions {
  /** Whether calls that continue each other are one row. @default 'trajectory' */
  readonly level?: RowLevel;
  /** @default rows may have any length */
  readonly rowLength?: RowLengthLimit;
}

/** The trajectories of a step, and what was left out on the way. */
export interface CollectedTrajectories {
  /** Of every rollout that succeeded, also of those without a reward, in the order they came. */
  readonly trajectories: readonly Trajectory[];
  /** Rollouts that did not succeed. */
  readonly failedRollouts: number;
  /** Model calls that were captured. */
  readonly modelCalls: number;
  /** Answers that cannot be trained on, by reason. */
  readonly untrainableCalls: Tally;
  /** Rewards that belong to no trained call. */
  readonly unassignedRewards: number;
  /** Rows beyond the first of a rollout, by why they were started. */
  readonly rowSplits: Tally;
  /** Rows that were too long and left out. */
  readonly droppedRows: number;
  /** Rows that were too long and cut. */
  readonly truncatedRows: number;
}

/** Makes a trajectory of every rollout that succeeded: spans, transitions, rows. */
export function collectTrajectories(
  groups: readonly CollectedGroup[],
  options: CollectOptions = {},
): CollectedTrajectories {
  const members = groups.flatMap(({ groupId, rollouts }) => rollouts.map((collected) => ({ groupId, collected })));
  const succeeded = members.filter(({ collected }) => collected.rollout.status === 'succeeded');
  const parts = succeeded.map(({ groupId, collected }) => collect(collected, groupId, options));
  const total = (count: (part: CollectedPart) => number): number => parts.reduce((sum, part) => sum + count(part), 0);
  return {
    trajectories: parts.map(({ trajectory }) => trajectory),
    failedRollouts: members.length - succeeded.length,
    modelCalls: total((part) => part.modelCalls),
    untrainableCalls: sumTallies(parts.map((part) => part.excluded)),
    unassignedRewards: total((part) => part.unassignedRewards),
    rowSplits: sumTallies(parts.map((part) => part.splits)),
    droppedRows: total((part) => part.dropped),
    truncatedRows: total((part) => part.truncated),
  };
}

type CollectedPart = LimitedTrajectory &
  Pick<BuiltTrajectory, 'splits'> &
  Pick<CollectedTransitions, 'modelCalls' | 'excluded' | 'unassignedRewards'>;

function collect(collected: CollectedRollout, groupId: string, options: CollectOptions): CollectedPart {
  const { rollout, attemptId, spans } = collected;
  const ownSpans = spans.filter((span) => span.attemptId === attemptId);
  const { transitions, finalReward, rewardedCall, agentRewards, ...counts } = transitionsFromSpans(ownSpans, options);
  const { trajectory, splits } = trajectoryFromTransitions({
    rolloutId: rollout.rolloutId,
    attemptId: attemptId ?? '',
    groupId,
    reward: finalReward,
    rewardedCall,
    agentRewards,
    transitions,
    ...(options.level === undefined ? {} : { level: options.level }),
  });
  const limited = limitRowLength(trajectory, options.rowLength ?? { maxTokens: Infinity, tooLong: 'drop' });
  return { ...counts, splits, ...limited };
}
