import type { CompletionReason } from '@agentlightning/core/protocol';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import type { StopSettings } from '../config/sections/stop-config.ts';
import { includesWarning } from '../events/run-warning.ts';
import { stageResults } from './run-stages.ts';
import type { RunState } from './run-state.ts';

/**
 * Why a training run is complete, or its present stage; null while steps remain. The current configuration decides, so a finished
 * run continues when it is resumed with more steps or another goal.
 *
 * It keeps its status and result until runtime and models are open, so that a missing checkpoint or runtime does not affect it.
 * The evaluation at its former end becomes an intermediate one and is not repeated. A learning rate that decays does so towards
 * the new end, and rises once where the run continues. A new run from the checkpoint would split the curve.
 */
export function completionReason(
  state: Pick<RunState, 'finishedStep' | 'rewardCurve' | 'warnings' | 'before' | 'evaluations' | 'stages'>,
  { steps, stop }: Pick<ResolvedConfig, 'steps' | 'stop'>,
): CompletionReason | null {
  const results = stageResults(state);
  const { finishedStep, rewardCurve, warnings } = results;
  // The goal takes precedence: a run that has reached it does not continue with more steps.
  if (hasReachedGoal(rewardCurve, stop.reward)) return 'goal';
  if (includesWarning(warnings, stop.warnings)) return 'warning';
  const { patience, minDelta } = stop;
  if (patience !== null && evaluationsSinceBest(results, minDelta) >= patience) return 'patience';
  return finishedStep < steps ? null : 'steps';
}

/** Whether the reward of the last three steps is at or above the goal. */
function hasReachedGoal(rewardCurve: readonly number[], goal: number | null): boolean {
  const last = rewardCurve.slice(-3);
  return goal !== null && last.length === 3 && last.every((reward) => reward >= goal);
}

/** The number of evaluations since the last one that improved on the best before it by more than `minDelta`. */
function evaluationsSinceBest(
  { before, evaluations }: Pick<RunState, 'before' | 'evaluations'>,
  minDelta: StopSettings['minDelta'],
): number {
  // Validation begins with the initial weights; the evaluation before training is of other tasks then.
  const hasInitial = evaluations.some(({ step }) => step === 0);
  const measured = [...(before === null || hasInitial ? [] : [before]), ...evaluations.map(({ summary }) => summary)];
  const [first, ...others] = measured;
  if (first === undefined) return 0;
  let best = first;
  let since = 0;
  for (const evaluation of others) {
    const delta = minDelta === 'interval' ? (best.ci95[1] - best.ci95[0]) / 2 : minDelta;
    if (evaluation.reward > best.reward + delta) [best, since] = [evaluation, 0];
    else since += 1;
  }
  return since;
}
