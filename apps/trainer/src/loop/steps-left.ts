import type { ResolvedConfig } from '../config/resolve-config.ts';
import type { RunState } from '../run/run-state.ts';
import { hasReachedGoal } from './reached-goal.ts';

/**
 * Why a training has no step left to do: its goal is reached, or all its steps are done; null while there is one. Asked of
 * the configuration of now, so that a run that has finished may have more to do when it is told so.
 */
export function whyNoStepIsLeft(
  { finishedStep, rewardCurve }: Pick<RunState, 'finishedStep' | 'rewardCurve'>,
  { steps, stopAtReward }: Pick<ResolvedConfig, 'steps' | 'stopAtReward'>,
): 'goal' | 'steps' | null {
  // The goal goes first: more steps alone would not help then.
  if (hasReachedGoal(rewardCurve, stopAtReward)) return 'goal';
  return finishedStep < steps ? null : 'steps';
}
