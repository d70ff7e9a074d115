import type { ResolvedConfig } from '../config/resolve-config.ts';
import type { RunState } from '../run/run-state.ts';
import type { CompletionReason } from '../training-event.ts';
import { hasReachedGoal } from './reached-goal.ts';

/**
 * Why a training run is complete; null while steps remain. The current configuration decides, so a finished run continues
 * when it is resumed with more steps or another goal.
 */
export function completionReason(
  state: Pick<RunState, 'finishedStep' | 'rewardCurve' | 'warnings' | 'before' | 'evaluations'>,
  { steps, stopAtReward, stopWhen }: Pick<ResolvedConfig, 'steps' | 'stopAtReward' | 'stopWhen'>,
): CompletionReason | null {
  const { finishedStep, rewardCurve, warnings } = state;
  // The goal takes precedence: a run that has reached it does not continue with more steps.
  if (hasReachedGoal(rewardCurve, stopAtReward)) return 'goal';
  if (warnings.some(({ name }) => stopWhen.warnings.includes(name))) return 'warning';
  if (stopWhen.patience !== null && evaluationsSinceBest(state) >= stopWhen.patience) return 'patience';
  return finishedStep < steps ? null : 'steps';
}

/** The number of evaluations since the best held-out reward; the first of equal ones is the best. */
function evaluationsSinceBest({ before, evaluations }: Pick<RunState, 'before' | 'evaluations'>): number {
  const rewards = [...(before === null ? [] : [before.reward]), ...evaluations.map(({ summary }) => summary.reward)];
  return rewards.length === 0 ? 0 : rewards.length - 1 - rewards.indexOf(Math.max(...rewards));
}
