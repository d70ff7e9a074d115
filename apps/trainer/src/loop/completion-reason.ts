import type { ResolvedConfig } from '../config/resolve-config.ts';
import type { RunState } from '../run/run-state.ts';
import { hasReachedGoal } from './reached-goal.ts';

/**
 * Why a training run is complete: its goal is reached, or all its steps are finished; null while steps remain. The current
 * configuration decides, so a finished run continues when it is resumed with more steps or another goal.
 */
export function completionReason(
  { finishedStep, rewardCurve }: Pick<RunState, 'finishedStep' | 'rewardCurve'>,
  { steps, stopAtReward }: Pick<ResolvedConfig, 'steps' | 'stopAtReward'>,
): 'goal' | 'steps' | null {
  // The goal takes precedence: a run that has reached it does not continue with more steps.
  if (hasReachedGoal(rewardCurve, stopAtReward)) return 'goal';
  return finishedStep < steps ? null : 'steps';
}
